# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for a good outcome ends with the first good one, or in time."""

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._check._outcome import PAUSE, Outcome, judge, until_ok
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import CLAMPED_MTU, Declared, Deviation, Observed

GOOD = Outcome((), (), "ib", "")
BAD = Outcome((Deviation("port mlx5_0/1", "ACTIVE and LinkUp", "INIT and LinkUp"),), (), "ib", "")


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def after(bad: int, wait: float) -> tuple[Outcome, float, int]:
    outcomes = [BAD] * bad + [GOOD] * 100
    looks: list[Outcome] = []
    clock = Clock()

    def look() -> Outcome:
        looks.append(outcomes[len(looks)])
        return looks[-1]

    outcome, waited = until_ok(look, wait, clock, clock.sleep)
    return outcome, waited, len(looks)


def test_a_good_node_is_looked_at_once() -> None:
    assert after(0, 30) == (GOOD, 0, 1)


def test_without_a_wait_a_bad_one_too() -> None:
    assert after(5, 0) == (BAD, 0, 1)


def test_it_ends_with_the_first_good_outcome() -> None:
    assert after(3, 30) == (GOOD, 3 * PAUSE, 4)


def test_it_ends_in_time() -> None:
    outcome, waited, _looks = after(50, 10)
    assert outcome is BAD and waited <= 10


def test_what_stays_as_it_is_is_not_waited_for() -> None:
    clamped = BAD._replace(deviations=(Deviation("interface ib0 mtu", "4092", "2044", CLAMPED_MTU),))
    clock = Clock()
    assert until_ok(lambda: clamped, 30, clock, clock.sleep) == (clamped, 0)
    both = clamped._replace(deviations=(*clamped.deviations, *BAD.deviations))
    assert until_ok(lambda: both, 30, clock, clock.sleep)[1] > 20


def test_the_result_is_plain_data() -> None:
    result = judge(Declared(modules=("ib_umad",), subnet_manager=False), Observed(persisted=frozenset(("ib_umad",)))).result()
    assert result["deviations"] == [{"object": "kernel module ib_umad", "wanted": "loaded", "found": "not loaded", "hint": ""}]
    assert result["deviation_lines"] == ["kernel module ib_umad: wanted loaded, found not loaded"]
    assert [row["result"] for row in result["rows"]] == ["BAD"]
