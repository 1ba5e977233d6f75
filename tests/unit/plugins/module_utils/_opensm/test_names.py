# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of nodes that a discovery finds in the node-name maps of hosts."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._discovery import join
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import NODE_NAMES, Found, Predecessor, Whole
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._names import names_found
from ansible_collections.rdma.ofed.plugins.module_utils._tools._node_names import DEFAULT_PATH, OTHER_PATHS, render, wanted
from support import hostile

LEAF, SPINE = "0x0000000000000a01", "0x0000000000000a02"
HOSTS = {"node1": {"mlx5_0": "0x0000000000000100"}, "node2": {"mlx5_0": "0x0000000000000200"}}
MADE = wanted(HOSTS)
OPENSM_MAP, OLD_MAP = OTHER_PATHS


def whole(ours: str = "", key: str = "", **named: str) -> Whole:
    return Whole(Found(predecessors=(Predecessor("process 7", {NODE_NAMES: (key,)} if key else {}),), node_names=ours), named)


def names(*looks: Whole) -> tuple[dict[str, str], list[str]]:
    hosts = {"node%d" % number: look for number, look in enumerate(looks, 1)}
    reading = names_found(hosts, list(hosts), MADE)
    declared = {value.variable: value.value for value in reading.values}
    assert problems(declared) == []
    return declared.get("opensm_node_names", {}), ["%s: %s" % left for left in reading.left]


@pytest.mark.parametrize("foreign", ["", '0x1 "of an administrator"\n'])
def test_what_the_role_writes_is_read_back(foreign: str) -> None:
    declared = {LEAF: "leaf 1, rack 3", SPINE: "spine"}
    text = render(foreign, HOSTS, declared)
    assert names(whole(text)) == ({**declared, **({"0x0000000000000001": "of an administrator"} if foreign else {})}, [])
    assert render(text, HOSTS, names(whole(text))[0]) == text


def test_a_host_that_has_left_leaves_no_name() -> None:
    assert names(whole(render("", {**HOSTS, "node9": {"mlx5_0": "0x900"}}))) == ({}, [])


def test_maps_of_others() -> None:
    found, left = names(whole('0xa01 "leaf"\n0x100 "node1 mlx5_0"\n0x200 "node2 HCA-1"\n', **{OPENSM_MAP: '0xa02 "spine"\n', OLD_MAP: '0xa02 "old"\n'}))
    assert found == {LEAF: "leaf", SPINE: "spine", "0x0000000000000200": "node2 HCA-1"}
    assert left == ["the name old of node %s in %s on node1: %s on node1 names it spine, which counts" % (SPINE, OLD_MAP, OPENSM_MAP)]


def test_the_map_that_opensm_reads_counts() -> None:
    assert names(whole('0xa01 "other"\n', key="/srv/names", **{"/srv/names": '0xa01 "leaf"\n'}))[0] == {LEAF: "leaf"}


def test_a_map_that_the_tools_ignore() -> None:
    found, left = names(whole('leaf1 0xa01\n0xa02 "spine"\n'))
    assert found == {}
    assert left[0].startswith("names of nodes in %s on node1: the tools ignore the whole file (line 1" % DEFAULT_PATH)


def test_standbys_and_other_hosts() -> None:
    first, second = whole('0xa01 "leaf"\n'), whole('0xa01 "LEAF"\n0xa02 "spine"\n')
    assert names(first, second)[0] == {LEAF: "leaf", SPINE: "spine"}
    reading = names_found({"node1": first, "node2": second}, ["node1"], MADE)
    assert [value.value for value in reading.values] == [{LEAF: "leaf"}]
    assert [left.what for left in reading.left] == ["names of nodes in %s on node2 (%s)" % (DEFAULT_PATH, SPINE)]


def test_all_hosts_with_subnet_managers_have_them() -> None:
    port = {"name": "mlx5_0/1", "port_guid": "0x0000000000000101", "link_layer": "InfiniBand", "state": "ACTIVE", "lid": 1, "sm_lid": 1}
    joined = join([Subject("node1", facts={"ports": [port]}, found=whole('0xa01 "leaf"\n')), Subject("node2", facts={}, found=Whole())])
    assert [value.value for value in joined.values["node1"] if value.variable == "opensm_node_names"] == [{LEAF: "leaf"}]
    assert joined.values["node2"] == []


@pytest.mark.parametrize("text", hostile.NAMES)
def test_hostile_names(text: str) -> None:
    names(whole('0xa01 "%s"\n' % text, key=text, **{OPENSM_MAP: text, text: text}))


def test_a_name_that_is_too_long() -> None:
    assert names(whole('0xa01 "%s"\n' % ("x" * 300)))[1] == [
        "the name of node %s in %s on node1: opensm_node_names does not allow it: it is too long, or not printable" % (LEAF, DEFAULT_PATH)
    ]
