# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that refuse the connection or hang, with stand-ins for ssh: they fail for themselves only."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest
from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
REFUSES = "#!/bin/sh\necho 'ssh: connect to host 10.0.0.3 port 22: Connection refused' >&2\nexit 255\n"
HANGS = "#!/bin/sh\nexec sleep 600\n"


def play(folder: pathlib.Path, playbook: str, *names: str) -> tuple[int, str]:
    for name, text in (("refuses", REFUSES), ("hangs", HANGS)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    hosts = {
        "node1": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "rdma_look_timeout": 0},
        # The time limit of this host expires at once and the others have none, so that the speed of the machine does not matter.
        "node2": {"ansible_connection": "ssh", "ansible_ssh_executable": str(folder / "hangs"), "rdma_look_timeout": 1},
        "node3": {"ansible_connection": "ssh", "ansible_ssh_executable": str(folder / "refuses"), "ansible_host": "10.0.0.3", "rdma_look_timeout": 0},
    }
    (folder / "hosts.json").write_text(json.dumps({"rdma": {"hosts": {name: hosts[name] for name in names}}}))
    done = playbook_runs.run("playbook", "-i", "hosts.json", "rdma.ofed." + playbook, "-e", "opensm_state=unmanaged", folder=folder)
    return done.status, done.output


def test_a_host_that_hangs_and_one_that_refuses_end_for_themselves(tmp_path: pathlib.Path) -> None:
    status, said = play(tmp_path, "verify", "node2", "node3", "node1")
    assert status == 2, said
    summary = " ".join(said.rpartition("Summary: ")[2].split())
    # The other host was checked, regardless of what it lacks.
    assert "node1: not checked" not in said and "Compare the node with its declared state" in said, said
    assert "node3: unreachable:" in summary and "connect to host port 22: Connection refused" in summary, said
    # ansible-core's message about the time limit.
    reason = summary.partition("node2: ")[2].partition("node3: ")[0].lower()
    assert "timed out" in reason or "time frame" in reason or "timeout" in reason, said


@pytest.mark.parametrize("playbook", ["site", "upgrade", "verify", "monitor"])
def test_where_no_host_answers_the_list_still_says_why(tmp_path: pathlib.Path, playbook: str) -> None:
    status, said = play(tmp_path, playbook, "node2", "node3")
    assert status == 2, said
    told = said.partition("Wrong or refused:")[2]
    assert "node2: " in told and "node3: unreachable: " in told, said
    # Ansible ends the run there.
    summary = said.rpartition("Summary: ")[2]
    assert summary.startswith("0 of 2 hosts done, 2 failed or unreachable") and "node3: unreachable: " in summary and "Next: " in summary, said
