# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for a good outcome ends with the first good one or at the time limit."""

from __future__ import annotations

from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check import _check
from ansible_collections.rdma.ofed.plugins.module_utils._check._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._check._outcome import Outcome, judge
from ansible_collections.rdma.ofed.plugins.module_utils._check._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._check._words import FORMS, lines
from ansible_collections.rdma.ofed.plugins.module_utils._finding import OTHER, Code, Finding, Topic, of_change
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _plan as kmod
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import LOAD_PATH, load_text
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found as Modules
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind
from support.expected import having, wanting

GOOD = Outcome(Wanted(), Found(), ())
BAD = GOOD._replace(findings=(Finding(Code.PORT_NOT_CONFIGURED, Topic.PORT, "mlx5_0/1", "", "ACTIVE and LinkUp", "INIT and LinkUp"),))


class Clock:
    """A clock that advances only during sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def after(bad: int, wait: float, *, of: Outcome = BAD) -> tuple[Outcome, float, int]:
    outcomes = [of] * bad + [GOOD] * 100
    clock = Clock()
    time = mock.patch.multiple("time", monotonic=clock, sleep=clock.sleep)
    with mock.patch.object(_check, "look") as look, mock.patch.object(_check, "judge", side_effect=outcomes), time:
        outcome, waited = _check.settled(mock.Mock(), Wanted(), wait=wait)
    return outcome, waited, look.call_count


def test_a_good_node_is_looked_at_once() -> None:
    assert after(0, 30) == (GOOD, 0, 1)


def test_without_a_wait_a_bad_one_too() -> None:
    assert after(5, 0) == (BAD, 0, 1)


def test_it_ends_with_the_first_good_outcome() -> None:
    assert after(3, 30) == (GOOD, 3 * _check.PAUSE, 4)


def test_it_ends_in_time() -> None:
    outcome, waited, _looks = after(50, 10)
    assert outcome is BAD and waited <= 10


def test_what_stays_as_it_is_is_not_waited_for() -> None:
    clamped = BAD._replace(findings=(Finding(Code.MTU_CLAMPED, Kind.INTERFACE, "ib0", "mtu", "4092", "2044", "4096"), Finding(Code.DIFFERS, Kind.FILE, "/x")))
    assert after(1, 30, of=clamped) == (clamped, 0, 1)
    both = clamped._replace(findings=(*clamped.findings, *BAD.findings))
    assert after(3, 30, of=both) == (GOOD, 3 * _check.PAUSE, 4)
    outcome, waited, _looks = after(100, 30, of=both)
    assert outcome == both and waited > 20


def test_the_result_is_plain_data() -> None:
    wanted = wanting(Wanted(subnet_manager=False), kernel_modules=kmod.Wanted(load=frozenset(("ib_umad",))))
    result = judge(wanted, having(Found(), kernel_modules=Modules(files={LOAD_PATH: load_text(["ib_umad"])}))).result()
    (entry,) = result["deviations"]
    assert entry == {
        **entry,
        "code": "differs",
        "object": "kernel module ib_umad",
        "expected": "loaded",
        "found": "not loaded",
        "next_step": "run rdma.ofed.site",
    }
    assert result["deviation_lines"] == ["kernel module ib_umad: wanted loaded, found not loaded (run rdma.ofed.site)"]
    assert [row["result"] for row in result["rows"]] == ["BAD"]


def test_each_object_has_one_line_and_every_code_has_words() -> None:
    both = [Finding(Code.DIFFERS, Kind.INTERFACE, "ib0", *values) for values in (("mode", "datagram", "connected"), ("mtu", "2044", "65520"))]
    file = Finding(Code.DIFFERS, Kind.FILE, "/etc/x", "", "", OTHER)
    assert lines([*both, file]) == [
        "interface ib0 mode: wanted datagram, found connected; mtu: wanted 2044, found 65520 (run rdma.ofed.site --tags ipoib)",
        "file /etc/x: wanted none, found other content (run rdma.ofed.site)",
    ]
    for code in FORMS:
        assert "{" not in lines([Finding(code, Topic.PORT, "x", "", "a", "b", "c")])[0]


def test_the_content_of_a_file_is_no_part_of_a_finding() -> None:
    secret = Change(Kind.FILE, "/etc/x", "", "", "secret")
    assert "secret" not in repr(of_change(secret))


@pytest.mark.parametrize("kind", Kind)
def test_whatever_a_role_changes_has_a_next_step(kind: Kind) -> None:
    (line,) = lines([Finding(Code.DIFFERS, kind, "x", "", "a", "b")])
    assert line.endswith(")") and "run rdma.ofed." in line
