# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A limit that excludes the host to query: Ansible would skip every play and report success for a fabric that was never judged."""

from __future__ import annotations

import json
import pathlib

import pytest
from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
REFUSAL = "leaves out node1, through which the fabric is queried: nothing was judged"


@pytest.mark.parametrize(
    "arguments, refused",
    [
        (["--limit", "node2"], True),
        (["--limit", "node2", "-e", "fabric_host=node1"], True),
        (["--limit", "node1"], False),
        (["--limit", "localhost,node2"], False),
        ([], False),
    ],
)
def test_a_limit_without_the_host_to_ask_is_refused(tmp_path: pathlib.Path, arguments: list[str], refused: bool) -> None:
    inventory = tmp_path / "hosts.json"
    # No module runs: these hosts have no Python.
    hosts = {name: {"ansible_connection": "local", "ansible_python_interpreter": "/nowhere"} for name in ("node1", "node2")}
    inventory.write_text(json.dumps({"all": {"children": {"rdma": {"hosts": hosts}}}}), encoding="utf-8")
    done = playbook_runs.run("playbook", "-i", str(inventory), "rdma.ofed.fabric", *arguments, folder=tmp_path)
    said = done.said
    assert (REFUSAL in said) == refused
    # The queried hosts have no Python, which is refused in turn. With ansible-pull, the other hosts have nothing to do.
    assert done.status == (0 if "localhost,node2" in arguments else 2)
