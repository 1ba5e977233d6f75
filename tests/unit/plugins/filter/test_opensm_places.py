# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.ofed.plugins.filter.opensm_places import FilterModule, opensm_places

GROUPS = {"rdma": ["node1", "node2", "node3"], "opensm": ["node1", "node2"]}
FACTS = {"rdma": {"ports": [{"link_layer": "InfiniBand", "port_guid": "0x1"}, {"link_layer": "Ethernet", "port_guid": "0x2"}]}}


def test_each_host_has_a_part() -> None:
    assert FilterModule().filters() == {"opensm_places": opensm_places}
    hostvars: dict[str, dict[str, t.Any]] = {"node1": {"ansible_facts": FACTS}, "node2": {"opensm_standby": True}, "node3": {}}
    assert [opensm_places(GROUPS, hostvars, host)["part"] for host in hostvars] == ["master", "standby", "resting"]
    (instance,) = opensm_places(GROUPS, hostvars, "node2", {"opensm_standby": True, "opensm_port": "mlx5_0/2"})["instances"]
    assert instance == {
        "fabric": "ib",
        "role": "standby",
        "designated_host": "node1",
        "port": "mlx5_0/2",
        "port_guid": "",
        "priority": 12,
        "subnet_prefix": "0xfe80000000000000",
        "log_file": "",
        "peer_guids": ["0x1"],
        "other_guids": [],
    }


class OnlyTheGroup(t.Dict[str, t.Any]):
    """Looking at the variables of a host that is not in group opensm is an error: that would be quadratic in hosts."""

    def __missing__(self, name: str) -> t.NoReturn:
        raise AssertionError("%s was read" % name)


def test_only_members_are_looked_at() -> None:
    places = opensm_places(GROUPS, OnlyTheGroup(node1={}, node2={}), "node3", {"fabric": "ib"})
    assert places == {"part": "resting", "designated": {"ib": "node1"}, "instances": []}


@pytest.mark.parametrize(
    ("hostvars", "variables", "text"),
    [
        ({"node1": {}, "node2": {}}, {"fabric": "storage"}, "at least one host of fabric storage"),
        ({"node1": {"opensm_rank": 1}, "node2": {"opensm_rank": 1}}, {}, "opensm_rank of node1, node2 is 1"),
        ({"node1": {"rdma_fabrics": 3}, "node2": {}}, {}, "rdma_fabrics of node1 is 3"),
    ],
)
def test_no_answer_is_better_than_a_wrong_one(hostvars: dict[str, t.Any], variables: dict[str, t.Any], text: str) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        opensm_places(GROUPS, hostvars, "node3", variables)
    assert text in str(caught.value)
