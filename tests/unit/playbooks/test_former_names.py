# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module that has another name now is found by the former one, with its action plugin."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
FORMER = sorted(yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["plugin_routing"]["modules"].items())


@pytest.mark.parametrize("former, route", FORMER, ids=[name for name, _ in FORMER])
def test_a_former_name_leads_to_the_module(tmp_path: pathlib.Path, former: str, route: dict[str, str]) -> None:
    options = ["-i", "localhost,", "-c", "local", "-e", "ansible_python_interpreter=" + sys.executable]
    argv = [sys.executable, "-m", "ansible", "adhoc", *options, "localhost", "-m", "rdma.ofed." + former, "-a", "nosuch=1"]
    env = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(ROOT / "build/checkout"), ANSIBLE_LOCALHOST_WARNING="false", LC_ALL="C.UTF-8")
    done = subprocess.run(argv, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300, check=False)
    # Of an action that validates its options itself, the newest ansible-core gives the name of the Python module.
    assert re.search(r"for \(\S*\b%s\) module: nosuch" % route["redirect"].rpartition(".")[2], done.stdout), done.stdout + done.stderr
