# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.rdma.ofed.plugins.filter.fabric_managers import FilterModule
from ansible_collections.rdma.ofed.plugins.module_utils._schema._node_check import OPTIONS
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked

fabric_managers = FilterModule().filters()["fabric_managers"]

GROUPS = {"rdma": ["node1", "node2", "node3"], "opensm": ["node1", "node2"]}
OWN = {"rdma_fabrics": {"ib": ["mlx5_0/1"], "storage": ["mlx5_1/1"]}}
HOSTVARS: dict[str, dict[str, t.Any]] = {
    "node1": {**OWN, "opensm_rank": {"ib": 1, "storage": 2}, "opensm_standby": True, "opensm_port_guids": ["0x11"], "ansible_host": "node1-mgmt"},
    "node2": {**OWN, "opensm_rank": {"ib": 2, "storage": 1}, "opensm_standby": True, "ansible_host": "node2-mgmt"},
    "node3": dict(OWN),
}


def test_each_fabric_has_a_line_of_its_own() -> None:
    ib, storage = fabric_managers(GROUPS, HOSTVARS, "node1", OWN, run=["node1", "node3"], names=["head"])
    assert (ib["fabric"], ib["ports"], ib["designated_host"], ib["designated"], ib["standby"]) == ("ib", ["mlx5_0/1"], "node1", True, False)
    assert (ib["designated_guids"], ib["designated_names"], ib["standbys"], ib["designated_absent"]) == (
        ["0x11"],
        ["node1-mgmt", "head"],
        {"node2": ["node2-mgmt"]},
        False,
    )
    assert (storage["designated_host"], storage["designated"], storage["standby"]) == ("node2", False, True)
    assert (storage["designated_names"], storage["standbys"], storage["designated_absent"]) == (["node2-mgmt", "head"], {}, True)


def test_what_it_returns_is_what_the_module_takes() -> None:
    for host in HOSTVARS:
        checked = ArgumentSpecValidator(copy.deepcopy(OPTIONS)).validate({"fabrics": fabric_managers(GROUPS, HOSTVARS, host, OWN)})
        assert not checked.error_messages


def test_where_others_manage_the_fabrics_any_host_may_be_master() -> None:
    found = fabric_managers(GROUPS, HOSTVARS, "node1", OWN, managed=False)
    assert [(each["fabric"], each["designated_host"], each["designated"], each["standby"]) for each in found] == [
        ("ib", "", False, False),
        ("storage", "", False, False),
    ]


def test_what_is_known_of_the_site_is_not_looked_up() -> None:
    (found,) = fabric_managers({}, HOSTVARS, "node3", {"fabric": "ib"}, known={"ib": ["node2", "node1"], "other": ["node9"]})
    assert (found["designated_host"], list(found["standbys"])) == ("node2", ["node1"])


def test_a_play_may_make_a_host_a_standby() -> None:
    hostvars: dict[str, dict[str, t.Any]] = {"node1": {}, "node2": {}}
    for known in ({}, {"ib": ["node1"]}):
        (found,) = fabric_managers(GROUPS, hostvars, "node2", {"fabric": "ib", "opensm_standby": True}, known=known)
        assert (found["designated_host"], found["standby"]) == ("node1", True)
    hostvars["node2"] = {"opensm_standby": True}
    (found,) = fabric_managers(GROUPS, hostvars, "node2", {"fabric": "ib", "opensm_standby": False}, known={"ib": ["node1", "node2"]})
    assert not found["standby"]


def test_the_port_guids_of_a_host_on_several_fabrics_are_those_on_each() -> None:
    there = [{"name": name, "device": name[:6], "link_layer": "InfiniBand", "port_guid": guid} for name, guid in (("mlx5_0/1", "0x1"), ("mlx5_1/1", "0x2"))]
    hostvars = {**HOSTVARS, "node1": {**HOSTVARS["node1"], "opensm_port_guids": ["0x1", "0x2"], "ansible_facts": {"rdma": marked({"ports": there})}}}
    ib, storage = fabric_managers(GROUPS, hostvars, "node3", OWN)
    assert (ib["designated_guids"], storage["standbys"]) == (["0x1"], {"node1": ["0x2", "node1-mgmt"]})
