# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which hosts are in which job, and who measures with whom."""

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._jobs._types import ALL, PAIRS, Figure, Job, Part, as_data, from_data, groups_of, pairs_of
from hypothesis import given
from hypothesis import strategies as st

COUNT = st.integers(0, 20)


@given(COUNT, st.sampled_from([ALL, PAIRS]))
def test_each_host_is_in_one_job_and_no_job_has_one_host_of_many(count: int, scope: str) -> None:
    hosts = ["n%d" % number for number in range(count)]
    groups = groups_of(hosts, scope)
    assert [host for group in groups for host in group] == hosts
    assert all(len(group) > 1 for group in groups) or count == 1
    assert scope == ALL or all(len(group) <= 3 for group in groups)


@given(COUNT)
def test_each_host_of_a_job_is_measured_and_none_twice_in_a_round(count: int) -> None:
    parts = [Part("n%d" % number, "n%d" % number) for number in range(count)]
    rounds = pairs_of(parts)
    for pairs in rounds:
        busy = [part for pair in pairs for part in pair]
        assert pairs and len(busy) == len(set(busy))
    assert {part for pairs in rounds for pair in pairs for part in pair} == (set(parts) if count > 1 else set())


def test_a_job_comes_back_as_it_was() -> None:
    job = Job(("node1", "node2"), 12, missing=(("alltoall", "osu_alltoall"),), figures=(Figure("pingpong", ("node1", "node2"), "osu_latency", usec=1.2),))
    assert from_data(as_data(job)) == job
