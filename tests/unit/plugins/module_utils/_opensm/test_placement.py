# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import (
    Member,
    conflicts,
    elect,
    lines_of,
    outsiders,
    read_members,
    uncovered,
    unmanaged,
)
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._survey import placement
from hypothesis import given
from hypothesis import strategies as st

ranks = st.one_of(st.none(), st.integers(0, 5))
some_members = st.lists(st.tuples(st.sampled_from("ab"), ranks), max_size=12).map(
    lambda pairs: [Member("node%d" % index, fabric, rank) for index, (fabric, rank) in enumerate(pairs)]
)


@given(some_members)
def test_every_fabric_with_members_has_one_of_them(members: list[Member]) -> None:
    chosen = elect(members).designated
    assert set(chosen) == {member.fabric for member in members}
    for fabric, host in chosen.items():
        best = next(member for member in members if member.host == host)
        others = [member for member in members if member.fabric == fabric]
        assert best.fabric == fabric
        if best.rank is None:
            assert best == others[0] and all(member.rank is None for member in others)
        else:
            assert all(member.rank is None or member.rank >= best.rank for member in others)


@given(some_members, st.randoms())
def test_without_a_conflict_the_order_of_ranked_hosts_does_not_matter(members: list[Member], random: t.Any) -> None:
    ranked = [member for member in members if member.rank is not None]
    if conflicts(ranked):
        return
    shuffled = list(ranked)
    random.shuffle(shuffled)
    assert elect(shuffled).designated == elect(ranked).designated


@given(some_members)
def test_fabrics_do_not_influence_each_other(members: list[Member]) -> None:
    chosen = elect(members).designated
    for fabric in chosen:
        assert elect([member for member in members if member.fabric == fabric]).designated == {fabric: chosen[fabric]}


def test_hosts_without_rank_follow_in_group_order() -> None:
    assert elect([Member("node1", "ib"), Member("node2", "ib")]).designated == {"ib": "node1"}
    assert elect([Member("node1", "ib"), Member("node2", "ib", 7)]).designated == {"ib": "node2"}
    assert elect([Member("node1", "ib", 0), Member("node2", "ib", 1)]).designated == {"ib": "node1"}


@given(some_members)
def test_an_election_has_the_designated_hosts_and_the_standbys_alone(members: list[Member]) -> None:
    assert elect(members).designated == {fabric: line[0].host for fabric, line in lines_of(members).items()}
    assert all(list(positions.values()) == [0] for positions in elect(members).positions.values())
    standing = elect([member._replace(standby=True) for member in members]).positions
    assert {fabric: list(positions) for fabric, positions in standing.items()} == {
        fabric: [member.host for member in line] for fabric, line in lines_of(members).items()
    }


def test_two_designated_hosts_are_a_conflict() -> None:
    (problem,) = conflicts([Member("node1", "ib", 1), Member("node2", "ib", 1), Member("node3", "other", 1)])
    assert problem.variable == "opensm_rank of node1, node2"
    assert "fabric ib" in str(problem)


def test_a_tie_of_those_behind_is_none() -> None:
    assert conflicts([Member("node1", "ib", 0), Member("node2", "ib", 1), Member("node3", "ib", 1)]) == []


def test_an_empty_group_and_a_forgotten_fabric_are_problems() -> None:
    assert "at least one host" in str(uncovered([], "node1", ["ib"])[0])
    (problem,) = uncovered(["ib"], "node2", ["ib", "storage"])
    assert str(problem).startswith("group opensm is 'hosts of fabric ib alone'; allowed: at least one host of fabric storage (")
    assert "at least one host of fabric storage" in str(problem) and "node2 is on that fabric" in str(problem)


class OnlyTheGroup(t.Dict[str, t.Any]):
    """Groups and hostvars of a large site: reading another group or another host's variables is an error."""

    def __missing__(self, name: str) -> t.NoReturn:
        raise AssertionError("%s was read" % name)


def test_only_members_are_looked_at() -> None:
    hostvars = OnlyTheGroup(node1={}, node2={"opensm_rank": "3", "fabric": "storage"})
    groups = OnlyTheGroup(opensm=["node1", "node2"])
    members, problems = read_members(groups, hostvars)
    assert members == [Member("node1", "ib", None), Member("node2", "storage", 3)]
    assert problems == []


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"opensm_rank": -1}, "opensm_rank of node1 is -1"),
        ({"opensm_rank": True}, "opensm_rank of node1 is True"),
        ({"opensm_rank": 1.5}, "opensm_rank of node1 is 1.5"),
        ({"opensm_rank": [1]}, "opensm_rank of node1 is [1]"),
        ({"fabric": 3}, "fabric of node1 is 3"),
        ({"fabric": ""}, "fabric of node1 is ''"),
    ],
)
def test_wrong_types_are_problems(variables: dict[str, t.Any], text: str) -> None:
    members, problems = read_members({"opensm": ["node1"]}, {"node1": variables})
    assert members == []
    assert text in str(problems[0])


def test_a_designated_host_that_is_never_configured_is_a_problem() -> None:
    (problem,) = outsiders({"ib": "mgmt", "storage": "node2"}, ["node1", "node2"], "compute")
    assert str(problem).startswith("group opensm is 'mgmt'; allowed: hosts of group compute (mgmt is designated for fabric ib")


def test_a_candidate_that_is_not_designated_may_be_anywhere() -> None:
    assert outsiders(elect([Member("node1", "ib"), Member("mgmt", "ib")]).designated, ["node1"]) == []


def test_what_members_of_the_play_say_themselves_is_not_said_again() -> None:
    hostvars: dict[str, dict[str, t.Any]] = {"node1": {"opensm_rank": "x"}, "node2": {"opensm_rank": "y", "fabric": 3}}
    members, problems = read_members({"opensm": ["node1", "node2"]}, hostvars, ["node1"])
    assert members == []
    assert [problem.variable for problem in problems] == ["fabric of node2", "opensm_rank of node2"]


@pytest.mark.parametrize("settings", [None, {}, [], {"ib": {}}, {3: {}}])
def test_settings_that_are_read_or_judged_elsewhere(settings: object) -> None:
    assert unmanaged(["ib"], settings) == []


def test_settings_of_a_fabric_that_nobody_is_on() -> None:
    (problem,) = unmanaged(["ib", "storage"], {"stroage": {"priority": 3}, "ib": {}})
    assert str(problem).startswith("opensm_fabrics is 'stroage'; allowed: ib, storage (no host of group opensm is on such a fabric")


PARTITIONS = [{"name": "storage", "pkey": 1, "members": [{"host": "node3"}, {"host": "node2"}, {"group": "gpus"}, {"port_guid": "0x9"}]}]


@pytest.mark.parametrize(
    ("own", "variable"),
    [
        ({"opensm_partitions": PARTITIONS}, "opensm_partitions"),
        ({"opensm_partitions": "x", "opensm_fabrics": {"ib": {"partitions": PARTITIONS}}}, "opensm_fabrics.ib.partitions"),
    ],
)
def test_members_that_have_left_the_inventory_are_known_before_the_first_change(own: dict[str, t.Any], variable: str) -> None:
    groups = {"opensm": ["node1"], "all": ["node1", "node2"]}

    def said(host: str = "node1", **variables: t.Any) -> list[str]:
        found = placement(host, groups=groups, hostvars={"node1": {}}, variables={**own, **variables}, playing=[host]).own
        return ["%s is %s (%s)" % (problem.variable, problem.value, problem.hint) for problem in found]

    assert said() == [
        "%s[0].members[0].host is node3 (it has no such host; did you mean node2? If it has left, remove the entry)" % variable,
        "%s[0].members[2].group is gpus (it has no such group; if it has left, remove the entry)" % variable,
    ]
    assert said(opensm_state="unmanaged") == []
    assert said(rdma_image=True) == []
    assert said("node2") == []


@pytest.mark.parametrize("partitions", [None, "", "x", 7, {}, [None], [{"members": [{"host": 7}]}]])
def test_malformed_partitions_are_reported_elsewhere(partitions: t.Any) -> None:
    hostvars = {"node1": {"opensm_partitions": partitions}}
    found = placement("node1", groups={"opensm": ["node1"], "all": ["node1"]}, hostvars=hostvars, variables=hostvars["node1"], playing=["node1"])
    assert (found.own, found.common) == ([], [])
