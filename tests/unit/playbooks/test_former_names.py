# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The former name of a renamed module still works, with its action plugin."""

from __future__ import annotations

import json
import pathlib
import re
import sys

import yaml
from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
FORMER = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["plugin_routing"]["modules"]


def test_a_former_name_leads_to_the_module(tmp_path: pathlib.Path) -> None:
    """All in one run: each task fails because of its wrong argument, with the name of the module."""
    tasks = [{"name": "former %s" % former, "rdma.ofed." + former: {"nosuch": 1}, "ignore_errors": True} for former in FORMER]
    (tmp_path / "play.json").write_text(json.dumps([{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]))
    done = playbook_runs.run("playbook", "-i", "localhost,", "play.json", "-e", "ansible_python_interpreter=" + sys.executable, folder=tmp_path)
    for former, route in FORMER.items():
        said = " ".join(done.output.partition("TASK [former %s]" % former)[2].partition("TASK [")[0].split())
        # For an action that validates its own options, the newest ansible-core reports the name of the Python module.
        assert re.search(r"for \(\S*\b%s\) module: nosuch" % route["redirect"].rpartition(".")[2], said), done.output
