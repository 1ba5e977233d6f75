# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a removal asks consent for. The way back to a hand-made node does not remove its stack, nor its GPUDirect."""

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
        (["-e", "rdma_restore=true"], "and the configuration of kernel modules, but not the RDMA packages, from 1 hosts"),
        (["-e", "rdma_restore=true", "--tags", "ofed"], "the configuration of kernel modules and the RDMA packages from 1 hosts"),
    ],
)
def test_consent_names_the_packages_only_where_they_go(tmp_path: pathlib.Path, arguments: list[str], said: str) -> None:
    (tmp_path / "hosts").write_text("[rdma]\nnode1 ansible_connection=local ansible_python_interpreter=%s\n" % sys.executable)
    done = playbook_runs.run("playbook", "-i", "hosts", "rdma.ofed.remove", *arguments, folder=tmp_path)
    assert done.status != 0
    assert said in done.said, done.output


def test_packages_that_may_have_been_there_before_stay_unless_their_tag_is_given() -> None:
    plays = yaml.safe_load((ROOT / "playbooks/remove.yml").read_text(encoding="utf-8"))
    chosen = [(task["tags"], task["when"]) for play in plays for block in play.get("tasks", []) for task in block.get("block", []) if "when" in task]
    assert [(tags, when if isinstance(when, str) else when[0]) for tags, when in chosen] == [
        (["gpudirect"], "__remove_gpudirect | bool"),
        # The stack, and the report of one that stays.
        (["ofed"], "__remove_stack | bool"),
        (["ofed"], "__remove_stack | bool"),
    ]
