# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of pairs are judged and shown as a matrix."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._pairs._report import Limits, Result, judge, limits_of, notes_of, render, results_of, rows
from ansible_collections.rdma.ofed.plugins.module_utils._pairs._tests import LATENCY, PING, STREAM, WRITE, Figure
from hypothesis import given
from hypothesis import strategies as st


def result(test: str = WRITE, number: int = 2, rate: float = 100, **figure: t.Any) -> Result:
    return Result("ib", "node1", "node%d" % number, rate, Figure(test, **figure))


@pytest.mark.parametrize(
    ("one", "limits", "code"),
    [
        (result(problem="no route"), Limits(), Code.PAIR_FAILED),
        (result(PING, usec=200.0, loss=2.0), Limits(), Code.PAIR_LOSS),
        (result(PING, usec=200.0, loss=0.0), Limits(usec=1), None),
        (result(gbps=79.9), Limits(), Code.PAIR_SLOW),
        (result(gbps=80.0), Limits(), None),
        # A declared limit replaces the rate.
        (result(gbps=70.0), Limits(gbps=60), None),
        (result(gbps=95.0), Limits(gbps=96), Code.PAIR_SLOW),
        # The link is unknown.
        (result(rate=0, gbps=0.1), Limits(), None),
        (result(gbps=0.1), Limits(share=0), None),
        (result(STREAM, gbps=9.0), Limits(), None),
        (result(STREAM, gbps=9.0), Limits(stream_gbps=10), Code.PAIR_SLOW),
        (result(LATENCY, usec=900.0), Limits(), None),
        (result(LATENCY, usec=3.1), Limits(usec=3), Code.PAIR_LATENCY),
    ],
)
def test_a_pair_by_itself(one: Result, limits: Limits, code: Code | None) -> None:
    assert [finding.code for finding in judge([one], limits)] == ([code] if code else [])


def test_a_pair_unlike_the_others_is_an_outlier() -> None:
    alike = [result(number=number, gbps=97.0) for number in range(2, 6)]
    odd = result(number=9, rate=0, gbps=60.0)
    unrated = [each._replace(rate=0.0) for each in alike]
    (found,) = judge([*unrated, odd], Limits())
    assert (found.code, found.severity.value, found.detail, [end.name for end in found.ends]) == (Code.PAIR_OUTLIER, "warning", "97", ["node9", "node1"])
    # Too few results mean little, and pairs with other links are not compared.
    assert judge([*unrated[:2], odd], Limits()) == []
    assert judge([*alike, odd], Limits()) == []
    assert judge([*unrated, odd], Limits(outlier=0)) == []
    # A result that is already a finding causes no second one.
    assert [each.code for each in judge([*alike, odd._replace(rate=100)], Limits())] == [Code.PAIR_SLOW]
    late = [result(LATENCY, number=number, usec=1.0) for number in range(2, 6)]
    assert [each.code for each in judge([*late, result(LATENCY, number=9, usec=1.5)], Limits())] == [Code.PAIR_OUTLIER]


def test_limits_that_can_not_be() -> None:
    options = {"min_gbps": -1.0, "min_share": 2.0, "min_ipoib_gbps": 0.0, "max_usec": -1.0, "outlier": 1.5}
    with pytest.raises(InvalidInput) as caught:
        limits_of(options)
    assert [problem.variable for problem in caught.value.problems] == ["min_gbps", "max_usec", "min_share", "outlier"]
    assert limits_of({**dict.fromkeys(options, 0.0), "max_usec": 3.0}) == Limits(0, 0, 0, 3, 0)


END = {"fabric": "ib", "gbps": 100.0, "left_out": {}, "tests": [WRITE]}
ENDS: dict[str, dict[str, t.Any]] = {"node1": END, "node2": {**END, "gbps": 56.0}, "node3": END}


def test_the_results_of_all_clients() -> None:
    figures = [Figure(WRITE, gbps=50.0)._asdict()]
    measured = {
        "node2": [{"server": "node1", "tests": [WRITE], "figures": figures, "problem": ""}],
        "node3": [{"server": "node1", "tests": [WRITE, LATENCY], "figures": [], "problem": "unreachable"}],
        "node1": [],
    }
    results = results_of(measured, ENDS)
    assert [(each.client, each.rate, each.figure.test, each.value, each.figure.problem) for each in results] == [
        ("node2", 56.0, WRITE, 50.0, ""),
        ("node3", 100.0, WRITE, None, "unreachable"),
        ("node3", 100.0, LATENCY, None, "unreachable"),
    ]


def test_the_matrix() -> None:
    results = [result(gbps=97.31), result(number=3, problem="no route"), Result("ib", "node2", "node3", 100, Figure(WRITE, gbps=24.0))]
    found = rows(judge(results, Limits()))
    assert [(each["code"], each["object"], each["found"], each["expected"]) for each in found] == [
        ("pair_failed", "node3 -> node1", "no route", "a result"),
        ("pair_slow", "node3 -> node2", "24 Gb/s", "80 Gb/s or more"),
    ]
    assert all(each["cause"] and each["next_step"] for each in found)
    lines = render(results, found, ["Not measured: node4: unreachable"]).splitlines()
    assert lines[:8] == [
        "Not measured: node4: unreachable",
        "",
        "Fabric ib, ib_write_bw in Gb/s, 3 pairs of 3 hosts:",
        "client  node1   node2  node3",
        "------  ------  -----  -----",
        "node1   -       -      -",
        "node2   97.31   -      -",
        "node3   FAILED  24     -",
    ]
    assert "Next steps:" in lines


def test_of_many_hosts_the_worst_are_shown() -> None:
    results = [Result("ib", "n%d" % number, "n%d" % (number + 1), 0, Figure(WRITE, gbps=90.0 + number)) for number in range(40)]
    results[7] = results[7]._replace(figure=Figure(WRITE, problem="no route"))
    lines = render(results, [], []).splitlines()
    assert "Fabric ib, ib_write_bw in Gb/s, 40 pairs of 41 hosts:" in lines
    assert [line.split() for line in lines[4:6]] == [["n8", "->", "n7", "FAILED"], ["n1", "->", "n0", "90"]]
    assert lines[-1] == "No findings."
    assert len(lines) < 40
    assert any(line.split() == ["worst", "hosts", "median"] for line in lines)


def test_what_is_not_measured_is_said_once() -> None:
    left_out = {PING: "rxe0/1 is no InfiniBand port"}
    ends = {"node1": {**END, "left_out": left_out}, "node2": {**END, "left_out": left_out}}
    assert notes_of(ends, {"node4": "unreachable"}, ["node2 -> node1: ib_write_bw"]) == [
        "Not measured: node4: unreachable",
        "Left out: ibping: rxe0/1 is no InfiniBand port (node[1-2])",
        "Would be measured: node2 -> node1: ib_write_bw",
    ]
    assert render([], [], []).endswith("Nothing was measured.")


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30), st.floats(0, 1e6), st.booleans()), max_size=40))
def test_whatever_was_measured_is_shown(measured: list[tuple[int, int, float, bool]]) -> None:
    results = [Result("ib", "n%d" % one, "n%d" % other, 100, Figure(WRITE, gbps=value, problem="x" if bad else "")) for one, other, value, bad in measured]
    assert render(results, rows(judge(results, Limits())), [])
