# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a removal asks consent for. The stack of a hand-made node is not removed by the way back to that node."""

from __future__ import annotations

import pathlib
import sys

import pytest
import yaml
from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the configuration of kernel modules and the RDMA packages from 1 hosts"),
        (["-e", "rdma_restore=true"], "and the configuration of kernel modules, and no packages, from 1 hosts"),
        (["-e", "rdma_restore=true", "--tags", "ofed"], "the configuration of kernel modules and the RDMA packages from 1 hosts"),
    ],
)
def test_consent_names_the_packages_only_where_they_go(tmp_path: pathlib.Path, arguments: list[str], said: str) -> None:
    (tmp_path / "hosts").write_text("[rdma]\nnode1 ansible_connection=local ansible_python_interpreter=%s\n" % sys.executable)
    done = playbook_runs.run("playbook", "-i", "hosts", "rdma.ofed.remove", *arguments, folder=tmp_path)
    assert done.status != 0
    assert said in done.said, done.output


def test_the_stack_is_removed_exactly_where_consent_names_the_packages() -> None:
    plays = yaml.safe_load((ROOT / "playbooks/remove.yml").read_text(encoding="utf-8"))
    (consent,) = [play["vars"]["__remove_packages"] for play in plays if "__remove_packages" in play.get("vars", {})]
    tasks = [task for play in plays for block in play.get("tasks", []) for task in block.get("block", [])]
    (stack,) = [task for task in tasks if task.get("tags") == ["ofed"]]
    assert "{{ %s }}" % stack["when"] == consent
