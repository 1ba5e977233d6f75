# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabrics import Settings, fabric_problems, fabrics_of, settings_of, settings_problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import (
    Member,
    conflicts,
    elect,
    instances_of,
    lines_of,
    part_of,
    places_of,
    priority_at,
    read_members,
)
from hypothesis import given
from hypothesis import strategies as st

TWO = {"ib": ["mlx5_0/1"], "storage": ["mlx5_1/1"]}
PREFIXES = {"storage": {"subnet_prefix": "0xFE80000000000001"}}


def hosts(**each: dict[str, t.Any]) -> tuple[dict[str, list[str]], dict[str, dict[str, t.Any]]]:
    return {"opensm": list(each)}, each


def test_the_simple_case_is_one_fabric() -> None:
    assert fabrics_of({}) == {"ib": ()}
    assert fabrics_of({"fabric": "storage"}) == {"storage": ()}
    assert fabrics_of({"rdma_fabrics": TWO}) == {"ib": ("mlx5_0/1",), "storage": ("mlx5_1/1",)}


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"rdma_fabrics": ["ib"]}, "rdma_fabrics is ['ib']; allowed: a mapping"),
        ({"rdma_fabrics": {"a b": ["mlx5_0/1"]}}, "rdma_fabrics is 'a b'"),
        ({"rdma_fabrics": {"ib": []}}, "rdma_fabrics.ib is []; allowed: a list of at least one port"),
        ({"rdma_fabrics": {"ib": "mlx5_0/1"}}, "rdma_fabrics.ib is 'mlx5_0/1'; allowed: a list"),
        ({"rdma_fabrics": {"ib": ["mlx5_0"]}}, "rdma_fabrics.ib[0] is 'mlx5_0'; allowed: a port by PCI address"),
        ({"rdma_fabrics": {"ib": ["mlx5_0/1"], "b": ["mlx5_0/1"]}}, "rdma_fabrics.b[0] is 'mlx5_0/1'; allowed: a port that is on no other fabric"),
        ({"rdma_fabrics": TWO, "fabric": "other"}, "fabric is 'other'; allowed: ib, storage"),
        ({"rdma_fabrics": TWO, "opensm_port": "mlx5_0/1"}, "opensm_port is 'mlx5_0/1'; allowed: not set"),
    ],
)
def test_fabrics_that_are_not_meant_well(variables: dict[str, t.Any], text: str) -> None:
    (problem,) = fabric_problems(variables)
    assert str(problem).startswith(text)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ([], "opensm_fabrics is []"),
        ({"ib": 3}, "opensm_fabrics.ib is 3"),
        ({"ib": {"prefix": 1}}, "opensm_fabrics.ib.prefix is 1; allowed: one of log_file, partitions, priority, subnet_prefix"),
        ({"ib": {"subnet_prefix": 3}}, "opensm_fabrics.ib.subnet_prefix is 3"),
        ({"ib": {"priority": 16}}, "opensm_fabrics.ib.priority is 16"),
        ({"ib": {"log_file": "sm.log"}}, "opensm_fabrics.ib.log_file is 'sm.log'"),
    ],
)
def test_settings_that_are_not_meant_well(settings: t.Any, text: str) -> None:
    (problem,) = settings_problems({"opensm_fabrics": settings})
    assert str(problem).startswith(text)


def test_two_fabrics_of_a_host_have_two_prefixes() -> None:
    (problem,) = settings_problems({"rdma_fabrics": TWO})
    assert "fabric ib has it, too" in str(problem)
    assert settings_problems({"rdma_fabrics": TWO, "opensm_fabrics": PREFIXES}) == []
    assert settings_of({"opensm_fabrics": PREFIXES}, "storage") == Settings(13, "0xfe80000000000001", "")


def test_a_host_is_a_member_of_each_of_its_fabrics() -> None:
    groups, hostvars = hosts(node1={"rdma_fabrics": TWO, "opensm_rank": {"ib": 1, "storage": 2}, "opensm_fabrics": PREFIXES}, node2={})
    members, problems = read_members(groups, hostvars)
    assert problems == []
    assert [(member.host, member.fabric, member.rank) for member in members] == [("node1", "ib", 1), ("node1", "storage", 2), ("node2", "ib", None)]
    assert members[1].settings.subnet_prefix == "0xfe80000000000001"


def test_a_rank_for_a_fabric_that_the_host_is_not_on() -> None:
    _members, problems = read_members(*hosts(node1={"opensm_rank": {"storage": 1}}))
    assert [str(problem) for problem in problems] == ["opensm_rank.storage of node1 is 1; allowed: a fabric of this host: ib"]


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=1, max_size=10))
def test_priorities_fall_along_the_line(ranks: list[int | None]) -> None:
    line = lines_of(Member("node%d" % index, "ib", rank, True) for index, rank in enumerate(ranks))["ib"]
    priorities = [priority_at(member.settings, position) for position, member in enumerate(line)]
    assert priorities == sorted(set(priorities), reverse=True)


def test_standbys_never_win_over_the_designated_host() -> None:
    low, high = Settings(priority=3), Settings(priority=14)
    (problem,) = conflicts([Member("node1", "ib", 0, False, low), Member("node2", "ib", 1, True, high)])
    assert str(problem).startswith("opensm_priority of node2 is 14; allowed: that of node1, 3")
    assert conflicts([Member("node1", "ib", 0, False, low), Member("node2", "ib", 1, False, high)]) == []
    crowd = [Member("node%d" % number, "ib", None, True, low) for number in range(6)]
    assert [problem.variable for problem in conflicts(crowd)] == ["opensm_priority of node4", "opensm_priority of node5"]


def test_one_fabric_has_one_prefix() -> None:
    other = Settings(subnet_prefix="0xfe80000000000001")
    (problem,) = conflicts([Member("node1", "ib", 0), Member("node2", "ib", 1, True, other)])
    assert problem.variable == "opensm_fabrics.ib.subnet_prefix of node2"


@pytest.mark.parametrize(("host", "part", "roles"), [("node1", "master", ["master", "standby"]), ("node2", "master", ["standby", "master"])])
def test_each_of_two_hosts_manages_a_fabric_and_stands_by_on_the_other(host: str, part: str, roles: list[str]) -> None:
    common = {"rdma_fabrics": TWO, "opensm_fabrics": PREFIXES, "opensm_standby": True}
    groups, hostvars = hosts(node1={**common, "opensm_rank": {"ib": 1, "storage": 2}}, node2={**common, "opensm_rank": {"ib": 2, "storage": 1}})
    members, problems = read_members(groups, hostvars)
    assert problems + conflicts(members) == []
    places = places_of(host, elect(members), hostvars[host])
    assert part_of(places) == part
    assert [place.role for place in places] == roles
    instances = instances_of(places, hostvars[host], {"ib": {"peer": ["0x1", "0x9"]}, "storage": {"peer": ["0x2", "0x9"]}})
    assert [(item["port"], item["priority"], item["subnet_prefix"]) for item in instances] == [
        ("mlx5_0/1", 13 if host == "node1" else 12, "0xfe80000000000000"),
        ("mlx5_1/1", 12 if host == "node1" else 13, "0xfe80000000000001"),
    ]
    assert [(item["peer_guids"], item["other_guids"]) for item in instances] == [(["0x1", "0x9"], ["0x2"]), (["0x2", "0x9"], ["0x1"])]


def test_without_standby_the_others_rest() -> None:
    members, _problems = read_members(*hosts(node1={}, node2={}))
    election = elect(members)
    assert [place.role for place in places_of("node2", election, {})] == ["resting"]
    assert [place.role for place in places_of("node2", elect([members[0], members[1]._replace(standby=True)]), {})] == ["standby"]
    assert instances_of(places_of("node2", election, {}), {}, {}) == []
    (place,) = places_of("node9", election, {})
    assert (place.role, place.designated) == ("resting", "node1")
