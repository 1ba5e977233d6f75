# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that matches no host fails: Ansible itself skips all plays and reports success."""

from __future__ import annotations

import pathlib
import sys

import pytest
from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "inventory, arguments, said",
    [
        ("nosuch.yml", ["--limit", "node4"], "No host of group rdma is within --limit node4"),
        ("hosts", ["--limit", "other"], "No host of group rdma is within --limit other"),
        # The play that checks the controller runs on a host within the limit.
        ("hosts", ["--limit", "node1", "-e", "rdma_strikt=true"], "rdma_strict"),
    ],
)
def test_a_run_without_a_host_fails(tmp_path: pathlib.Path, inventory: str, arguments: list[str], said: str) -> None:
    (tmp_path / "hosts").write_text(
        "node1 ansible_connection=local\nother ansible_connection=local\n[rdma]\nnode1\n[all:vars]\nansible_python_interpreter=%s\n" % sys.executable
    )
    done = playbook_runs.run("playbook", "-i", inventory, "rdma.ofed.verify", *arguments, folder=tmp_path)
    assert done.status != 0
    assert said in done.said, done.output
    assert "Refuse an ansible-core that is too old" in done.output or "No host" in said
