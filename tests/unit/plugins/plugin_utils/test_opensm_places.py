# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked
from ansible_collections.rdma.ofed.plugins.plugin_utils._managers import places

GROUPS = {"rdma": ["node1", "node2", "node3"], "opensm": ["node1", "node2"]}
FACTS: dict[str, t.Any] = {"rdma": {"ports": [{"link_layer": "InfiniBand", "port_guid": "0x1"}, {"link_layer": "Ethernet", "port_guid": "0x2"}]}}


def test_each_host_has_a_part() -> None:
    hostvars: dict[str, dict[str, t.Any]] = {"node1": {"ansible_facts": {"rdma": marked(FACTS["rdma"])}}, "node2": {"opensm_standby": True}, "node3": {}}
    assert [places(GROUPS, hostvars, host=host, own=hostvars[host])["part"] for host in hostvars] == ["master", "standby", "resting"]
    (instance,) = places(GROUPS, hostvars, host="node2", own={"opensm_standby": True, "opensm_port": "mlx5_0/2"})["instances"]
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
    # Facts in a fact cache may belong to another host by now.
    hostvars["node1"]["ansible_facts"] = FACTS
    assert places(GROUPS, hostvars, host="node2", own={"opensm_standby": True})["instances"][0]["peer_guids"] == []


def test_the_ports_of_a_host_on_its_other_fabrics_are_not_on_this_one() -> None:
    there = [{"name": name, "link_layer": "InfiniBand", "port_guid": guid} for name, guid in (("mlx5_0/1", "0x1"), ("mlx5_1/1", "0x2"))]
    own = {"rdma_fabrics": {"ib": ["mlx5_0/1"], "storage": ["mlx5_1/1"]}}
    hostvars: dict[str, dict[str, t.Any]] = {
        "node1": {**own, "ansible_facts": {"rdma": marked({"ports": [{**port, "device": port["name"][:6]} for port in there]})}},
        "node2": {"fabric": "storage", "opensm_rank": 1},
    }
    found = places(GROUPS, hostvars, host="node1", own=own)["instances"]
    assert {instance["fabric"]: instance["other_guids"] for instance in found}["ib"] == ["0x2"]


class OnlyTheGroup(t.Dict[str, t.Any]):
    """Reading the variables of a host outside group opensm is an error: that would take quadratic time."""

    def __missing__(self, name: str) -> t.NoReturn:
        raise AssertionError("%s was read" % name)


def test_only_members_are_looked_at() -> None:
    found = places(GROUPS, OnlyTheGroup(node1={}, node2={}), host="node3", own={"fabric": "ib"})
    assert found == {"part": "resting", "designated": {"ib": "node1"}, "instances": []}


@pytest.mark.parametrize(
    ("hostvars", "variables", "text"),
    [
        ({"node1": {}, "node2": {}}, {"fabric": "storage"}, "at least one host of fabric storage"),
        ({"node1": {"opensm_rank": 1}, "node2": {"opensm_rank": 1}}, {}, "opensm_rank of node1, node2 is 1"),
        ({"node1": {"rdma_fabrics": 3}, "node2": {}}, {}, "rdma_fabrics of node1 is 3"),
    ],
)
def test_no_answer_is_better_than_a_wrong_one(hostvars: dict[str, t.Any], variables: dict[str, t.Any], text: str) -> None:
    with pytest.raises(RdmaError) as caught:
        places(GROUPS, hostvars, host="node3", own=variables)
    assert text in str(caught.value)
