# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes of counters between two readings, and which of them are findings."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters._input import limits_of
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters._report import judge
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters._types import (
    COUNTERS,
    Course,
    Growth,
    Reading,
    Sample,
    Spot,
    growth,
    hours_between,
    named,
    parse_sample,
    reading,
    spots_of,
    written,
)
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._subnet import Port, Subnet
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ibnetdiscover import Node
from hypothesis import given
from hypothesis import strategies as st

SYMBOL, DISCARDS, WAIT, DATA, DOWNED = "SymbolErrorCounter", "PortXmitDiscards", "PortXmitWait", "PortXmitData", "LinkDownedCounter"
TOP16, TOP32, TOP64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1
PLACE = ("0x0000000000200000", 1)
SPOT = Spot(PLACE[0], "leaf1", 1, PLACE[0], 2)
NORMAL, RESET, SATURATED, WRAPPED = Course.NORMAL, Course.RESET, Course.SATURATED, Course.WRAPPED


@pytest.mark.parametrize(
    ("before", "now", "delta", "course"),
    [
        ((SYMBOL, 3), Reading(10), 7, NORMAL),
        ((SYMBOL, 3), Reading(3), 0, NORMAL),
        ((SYMBOL, 10), Reading(3), 3, RESET),
        ((SYMBOL, 10), Reading(), 0, RESET),
        # Error counters stop at their maximum: a lower value means a reset, regardless of the previous value.
        ((SYMBOL, TOP16 - 5), Reading(3), 3, RESET),
        ((SYMBOL, 10), Reading(TOP16), TOP16 - 10, SATURATED),
        ((SYMBOL, TOP16), Reading(TOP16), 0, SATURATED),
        ((SYMBOL, 10), Reading(TOP16, True), TOP16 - 10, NORMAL),
        ((SYMBOL, 10), Reading(TOP16 + 1, True), TOP16 - 9, NORMAL),
        # The 64-bit counter was unavailable this time.
        ((SYMBOL, 70000), Reading(TOP16), None, SATURATED),
        ((SYMBOL, 70000), Reading(5), 5, RESET),
        ((DOWNED, 10), Reading(255), 245, SATURATED),
        ((DATA, TOP32 - 5), Reading(10), 16, WRAPPED),
        ((DATA, TOP64 - 5), Reading(10, True), 16, WRAPPED),
        # As a 64-bit counter, it was far from its maximum.
        ((DATA, TOP32 - 5), Reading(10, True), 10, RESET),
        ((DATA, TOP32 // 2), Reading(10), 10, RESET),
        # A counter that stops at its maximum does not wrap.
        ((DATA, TOP32), Reading(10), 10, RESET),
        ((WAIT, TOP32 - 1), Reading(1), 3, WRAPPED),
        # Too many in one round for a wrap.
        ((DATA, TOP32 - 5), Reading(TOP32 // 4), TOP32 // 4, RESET),
        ((DATA, TOP32 - 5), Reading(TOP32 // 2), TOP32 // 2, RESET),
        ((DATA, TOP32 * 3 // 4), Reading(10), 10, RESET),
        ((DATA, TOP32 * 3 // 4 + 1), Reading(10), 10 + TOP32 - TOP32 * 3 // 4, WRAPPED),
    ],
)
def test_what_became_of_a_counter(before: tuple[str, int], now: Reading, delta: int | None, course: Course) -> None:
    name, value = before
    assert growth({name: Reading(value)}, {name: now}) == {name: Growth(now.value, delta, course)}


def test_one_reset_explains_the_others_of_the_port() -> None:
    found = growth({SYMBOL: Reading(9), DATA: Reading(TOP32 - 5), DISCARDS: Reading(1)}, {SYMBOL: Reading(), DATA: Reading(10), DISCARDS: Reading(4)})
    assert found == {SYMBOL: Growth(0, 0, RESET), DATA: Growth(10, 10, RESET), DISCARDS: Growth(4, 3, NORMAL)}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        # It was read with 64 bits before and with 16 now: the lower value is no loss.
        (Reading(70000), Reading(TOP16)),
        (Reading(3), Reading(3)),
        (Reading(3), Reading(4)),
    ],
)
def test_a_counter_that_was_not_reset_explains_no_other(before: Reading, now: Reading) -> None:
    found = growth({SYMBOL: before, DATA: Reading(TOP32 - 5)}, {SYMBOL: now, DATA: Reading(10)})
    assert found[DATA] == Growth(10, 16, WRAPPED)


def test_without_an_earlier_look() -> None:
    assert growth(None, {SYMBOL: Reading(9), DISCARDS: Reading()}) == {SYMBOL: Growth(9, None, NORMAL)}


@pytest.mark.parametrize(
    ("basic", "extended", "wanted"),
    [(5, None, Reading(5)), (TOP16, 70000, Reading(70000, True)), (5, 0, Reading(5)), (5, 5, Reading(5, True)), (None, 7, Reading(7, True))],
)
def test_a_port_without_64_bits_shows_zeros_for_them(basic: int | None, extended: int | None, wanted: Reading) -> None:
    assert reading(basic, extended) == wanted


def found(name: str, grown: Growth, hours: float | None, suppressed: t.Sequence[str] = (), **limits: float) -> list[tuple[t.Any, ...]]:
    return [(each.code, *(each.measure or ())) for each in judge(SPOT, {name: grown}, limits=limits_of(limits, suppressed), hours=hours)]


@pytest.mark.parametrize(
    ("name", "grown", "hours", "wanted"),
    [
        (SYMBOL, Growth(500, 11, NORMAL), 1, [(Code.SYMBOL_ERRORS, 11, 10)]),
        (SYMBOL, Growth(500, 10, NORMAL), 1, []),
        (SYMBOL, Growth(500, 20, NORMAL), 2, []),
        (SYMBOL, Growth(500, 21, NORMAL), 2, [(Code.SYMBOL_ERRORS, 21, 20)]),
        # A few within seconds are no rate.
        (SYMBOL, Growth(500, 3, NORMAL), 0.001, []),
        (SYMBOL, Growth(500, None, NORMAL), 1, []),
        (SYMBOL, Growth(500, None, NORMAL), None, [(Code.SYMBOL_ERRORS, 500, 10)]),
        (SYMBOL, Growth(20, 20, RESET), 1, [(Code.SYMBOL_ERRORS, 20, 10)]),
        (SYMBOL, Growth(TOP16, 0, SATURATED), 1, [(Code.SATURATED, TOP16, TOP16)]),
        (SYMBOL, Growth(TOP16, 50, SATURATED), 1, [(Code.SYMBOL_ERRORS, 50, 10)]),
        (WAIT, Growth(10**9, 10**9, NORMAL), 0.001, [(Code.CONGESTION, 10**12, 1e11)]),
        (WAIT, Growth(10**12, 10**9, NORMAL), 1, []),
        (WAIT, Growth(10**13, None, NORMAL), None, []),
        (DATA, Growth(TOP32, 0, SATURATED), 1, []),
        ("LocalLinkIntegrityErrors", Growth(1, 1, NORMAL), 0.1, [(Code.LINK_INTEGRITY, 1, 0)]),
    ],
)
def test_what_is_a_finding(name: str, grown: Growth, hours: float | None, wanted: list[t.Any]) -> None:
    assert found(name, grown, hours) == [(code, pytest.approx(value), limit) for code, value, limit in wanted]


def test_limits_of_the_site_and_what_it_suppresses() -> None:
    grown = Growth(500, 11, NORMAL)
    assert found(SYMBOL, grown, 1, SymbolErrorCounter=11) == []
    assert found(SYMBOL, grown, 1, SymbolErrorCounter=0) == [(Code.SYMBOL_ERRORS, 11, 0)]
    assert found(SYMBOL, grown, 1, [SYMBOL]) == found(SYMBOL, Growth(TOP16, 0, SATURATED), 1, [SYMBOL]) == []


def test_a_sample_is_read_as_it_was_written() -> None:
    sample = Sample(1700000000.5, {PLACE: {SYMBOL: Reading(7)}, ("0x0000000000200000", 2): {}})
    assert parse_sample(written(sample)) == sample
    assert parse_sample(written(Sample(1, {PLACE: {SYMBOL: Reading(7, True), DATA: Reading()}}))) == Sample(1, {PLACE: {SYMBOL: Reading(7)}})


GOOD = {"version": 1, "time": 5, "ports": {"0x1/2": {SYMBOL: 3}}}


@pytest.mark.parametrize(
    "other",
    [
        {"version": 2},
        {"time": "5"},
        {"time": True},
        {"time": -1},
        {"time": float("nan")},
        {"time": 10**400},
        {"ports": []},
        {"ports": {"0x1": {}}},
        {"ports": {"0x1/x": {}}},
        {"ports": {"0x1/2": []}},
        {"ports": {"0x1/2": {SYMBOL: "3"}}},
        {"ports": {"0x1/2": {SYMBOL: -3}}},
        {"ports": {"0x1/2": {SYMBOL: 1 << 64}}},
        {"ports": {"0x1/2": {SYMBOL: True}}},
    ],
)
def test_a_sample_of_others_is_none(other: dict[str, t.Any]) -> None:
    assert parse_sample(json.dumps(GOOD)) == Sample(5, {("0x1", 2): {SYMBOL: Reading(3)}})
    assert parse_sample(json.dumps({**GOOD, **other})) is None


def test_what_a_later_version_counts_is_left_out() -> None:
    assert parse_sample(json.dumps({**GOOD, "ports": {"0x1/2": {"Other": "x"}}})) == Sample(5, {("0x1", 2): {}})


@pytest.mark.parametrize(("earlier", "later", "hours"), [(0, 7200, 2), (5, 5, None), (6, 5, None)])
def test_hours(earlier: float, later: float, hours: float | None) -> None:
    assert hours_between(earlier, later) == hours


COUNTS = st.dictionaries(
    st.sampled_from(list(COUNTERS)), st.builds(Reading, st.one_of(st.integers(0, TOP64), st.sampled_from([15, 255, TOP16, TOP32])), st.booleans())
)


@given(COUNTS, COUNTS, st.one_of(st.none(), st.floats(1e-6, 1e6)))
def test_no_growth_is_negative_and_what_is_equal_makes_no_error(before: dict[str, Reading], now: dict[str, Reading], hours: float | None) -> None:
    for name, grown in growth(before, now).items():
        assert grown.delta is None or grown.delta >= 0, name
    same = growth(now, now)
    assert all(grown.delta == 0 for grown in same.values())
    assert {each.code for each in judge(SPOT, same, limits=limits_of({}, ()), hours=hours or 1)} <= {Code.SATURATED}


def test_a_counter_that_is_missing_is_zero() -> None:
    assert growth({SYMBOL: Reading(5)}, {}) == {SYMBOL: Growth(0, 0, RESET)}
    assert growth({SYMBOL: Reading(5), DATA: Reading(0)}, {SYMBOL: Reading(5)}) == {SYMBOL: Growth(5, 0, NORMAL)}


def test_the_ports_that_are_read() -> None:
    """Ports of switches including port 0, and ports of adapters with a link."""
    nodes = (Node("0x1", "switch", "leaf1", 3, port_guid="0x1a", lid=2), Node("0x2", "ca", "node1 HCA-1", 2))
    up = ("Active", "LinkUp", "4X", "EDR")
    host, leaf = Port("0x2", "node1", 1, "0x2a", 3, 0, *up, "0x1", 2), Port("0x1", "leaf1", 2, "0x1a", 2, 0, *up, "0x2", 1)
    found = spots_of(Subnet(nodes, (host, leaf), (), {"0x1": "leaf1", "0x2": "node1"}))
    assert sorted(found) == [("0x1a", 0), ("0x1a", 1), ("0x1a", 2), ("0x1a", 3), ("0x2a", 1)]
    assert found["0x1a", 2] == Spot("0x1", "leaf1", 2, "0x1a", 2, "0x2", "node1", 1)
    assert found["0x1a", 3] == Spot("0x1", "leaf1", 3, "0x1a", 2)
    # Port 0 is the switch itself and has no cable.
    assert [spot.port for spot in named(found, {"0x1"}, ())] == [1, 2, 3]
    assert [spot.port for spot in named(found, {"0x1"}, {2, 9})] == [2]
    assert [spot.place for spot in named(found, {"0x2"}, ())] == [("0x2a", 1)]
    assert named(found, (), {1}) == []


def test_a_clock_that_is_no_number_compares_nothing() -> None:
    assert hours_between(0.0, float("inf")) is None and hours_between(0.0, float("nan")) is None
    assert hours_between(5.0, 5.0) is None and hours_between(0.0, 1.0) == 1 / 3600


def test_the_time_of_a_sample_begins_in_1970() -> None:
    found = parse_sample(written(Sample(0, {})))
    assert found is not None and found.time == 0
