# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import _found as _fabric_found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._found import see
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._settle import settle
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Bound

PORT = Port("mlx5_0/1", "mlx5_0", 1, port_guid="0x0000000000100001")
LINE = "sminfo: sm lid 1 sm guid 0x100001, activity count %d priority 14 state %d SMINFO_X\n"


class Fabric:
    """One subnet manager, which counts the queries."""

    def __init__(self, state: int = 3, error: str = "", records: str = "") -> None:
        self.state, self.error, self.records = state, error, records
        self.asked: list[str] = []

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.asked.append(" ".join([argv[0], *argv[5:]]))
        if self.error:
            return Output(255, "", self.error)
        return Output(0, LINE % (len(self.asked), self.state) if argv[0] == "sminfo" else self.records, "")


def test_each_part_is_asked_when_it_is_read_and_once() -> None:
    run = Fabric()
    fabric = see(run, PORT)
    assert run.asked == []
    assert fabric.master == fabric.answer
    assert run.asked == ["sminfo"]
    assert fabric.managers == fabric.managers == ()
    assert fabric.is_alive and fabric.is_alive
    assert fabric.reply(7) is not None
    assert run.asked == ["sminfo", "saquery SMIR", "sminfo", "sminfo 7"]


def test_only_a_master_is_asked_for_the_others() -> None:
    run = Fabric(state=2)
    fabric = see(run, PORT)
    assert fabric.answer is not None and fabric.master is None and fabric.managers is None
    assert run.asked == ["sminfo"]


def test_no_answer_is_one_and_a_fabric_that_can_not_be_asked_is_an_error() -> None:
    assert see(Fabric(error="sminfo: iberror: failed: query"), PORT).answer is None
    fabric = see(Fabric(error="sminfo: iberror: failed: Failed to open device"), PORT)
    with pytest.raises(CommandFailed):
        assert fabric.master


def test_a_fabric_that_is_settled_costs_three_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fabric_found, "read_port", lambda *_: PORT._replace(state="ACTIVE", phys_state="LinkUp"))
    run = Fabric(records="SMInfoRecord dump:\n\t\tLID...1\n\t\tGUID...%s\n\t\tActCount...1\n\t\tPriority...14\n\t\tSMState...3\n" % PORT.port_guid)
    settle(run, [Bound(Instance("ib", PORT.port_guid, 14), PORT)], timeout=60, running=(), announce=mock.Mock())
    assert run.asked == ["sminfo", "saquery SMIR", "sminfo"]
