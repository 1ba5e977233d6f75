# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each pair is measured once, and each host takes part in one measurement at a time."""

from __future__ import annotations

import collections

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._pairs._rounds import ALL, AUTO, MOST_FOR_ALL, RING, pairs_of, rounds
from hypothesis import given
from hypothesis import strategies as st


def names(count: int, fabric: str = "n") -> list[str]:
    return ["%s%d" % (fabric, number) for number in range(count)]


@given(st.dictionaries(st.sampled_from(["ib", "storage", "gpu"]), st.integers(0, 24)), st.sampled_from([ALL, RING, AUTO]))
def test_no_host_is_in_two_pairs_of_a_round_and_no_pair_comes_twice(sizes: dict[str, int], scope: str) -> None:
    fabrics = {fabric: names(count, fabric + "-") for fabric, count in sizes.items()}
    met: collections.Counter[frozenset[str]] = collections.Counter()
    for number in range(rounds(fabrics, scope)):
        pairs = pairs_of(fabrics, scope, number)
        busy = [host for pair in pairs for host in pair]
        assert len(busy) == len(set(busy))
        assert pairs, "a round without a pair"
        met.update(frozenset(pair) for pair in pairs)
    assert set(met.values()) <= {1}
    assert all(len({host.partition("-")[0] for host in pair}) == 1 for pair in met)
    expected = 0
    for count in sizes.values():
        everyone = scope == ALL or (scope == AUTO and count <= MOST_FOR_ALL)
        expected += count * (count - 1) // 2 if everyone or count < 3 else count
    assert len(met) == expected


@pytest.mark.parametrize(
    ("hosts", "scope", "expected"), [(0, ALL, 0), (1, RING, 0), (2, ALL, 1), (7, ALL, 7), (8, ALL, 7), (2, RING, 1), (7, RING, 3), (8, RING, 2), (999, AUTO, 3)]
)
def test_how_many_rounds(hosts: int, scope: str, expected: int) -> None:
    assert rounds({"ib": names(hosts)}, scope) == expected
    assert pairs_of({"ib": names(hosts)}, scope, expected) == ()


def test_each_host_of_a_ring_is_measured_with_both_neighbours() -> None:
    for hosts in (3, 8, 17):
        fabrics = {"ib": names(hosts)}
        met = collections.Counter(host for number in range(rounds(fabrics, RING)) for pair in pairs_of(fabrics, RING, number) for host in pair)
        assert set(met.values()) == {2}
