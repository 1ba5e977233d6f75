# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the role waits for a back end, and when it notifies it again."""

from __future__ import annotations

import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _apply
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkmanager_backend import NETWORKMANAGER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._todo import IpoibPlan
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan

LEFT = Plan((Change(Kind.INTERFACE, "bond0", "ports", "", "ib0"),))


class Node:
    """A back end that is done at a given time, and needs a while after each notification."""

    def __init__(self, done_at: float, nudge: float = 0, busy_until: float = 0) -> None:
        self.time = 0.0
        self.done_at, self.duration, self.busy_until = done_at, nudge, busy_until
        self.nudges: list[float] = []

    def busy(self, found: t.Any) -> bool:
        return self.time < self.busy_until

    def nudge(self, again: IpoibPlan, found: t.Any) -> None:
        self.nudges.append(self.time)
        self.time += self.duration

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def judge(self, found: t.Any) -> IpoibPlan:
        return IpoibPlan(Plan() if self.time >= self.done_at else LEFT)

    def settle(self) -> None:
        stack: t.Any = self
        applier = _apply.Applier(mock.Mock(), mock.Mock(), mock.Mock(), backend=NETWORKMANAGER, look=mock.Mock(), replan=self.judge)
        with mock.patch.object(_apply, "time", mock.Mock(sleep=self.sleep, monotonic=lambda: self.time)):
            applier._settle(stack, ())


def test_it_is_told_again_ever_less_often() -> None:
    node = Node(done_at=50)
    node.settle()
    assert node.nudges == [3.0, 9.0, 27.0]


def test_told_again_it_has_time_for_that() -> None:
    node = Node(done_at=90, nudge=70)
    node.settle()
    assert node.nudges == [3.0]
    with pytest.raises(CommandFailed, match="still missing: bond0 ports"):
        Node(done_at=200, nudge=70).settle()


def test_what_is_at_work_is_not_made_to_begin_again() -> None:
    node = Node(done_at=10, busy_until=9)
    node.settle()
    assert node.nudges == [9.0]
    node = Node(done_at=8, busy_until=9)
    node.settle()
    assert node.nudges == []


def test_what_is_at_work_has_longer_but_not_for_ever() -> None:
    Node(done_at=300, busy_until=299).settle()
    with pytest.raises(CommandFailed, match=r"within 6[0-9][0-9] s; still missing: bond0 ports"):
        Node(done_at=9999, busy_until=9999).settle()
