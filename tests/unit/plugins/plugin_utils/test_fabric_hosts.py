# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import Node, Picture, cable
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import Pace as Speed
from ansible_collections.rdma.ofed.plugins.plugin_utils._fabric_hosts import compressed, homes, is_host_name, is_node_of_slurm, slurm_topology
from support import hostile

EDR = Speed("4X", "EDR")


def picture(switches: t.Sequence[str], hosts: t.Mapping[str, t.Sequence[str]], links: t.Sequence[tuple[str, str]] = ()) -> Picture:
    """Return a picture of hosts by description, each with the switches of its adapter, and the links between switches."""
    guids = {name: "0x%016x" % number for number, name in enumerate([*switches, *hosts], 1)}
    nodes = {guids[name]: Node(guids[name], "switch", name, name, 40) for name in switches}
    nodes.update({guids[name]: Node(guids[name], "ca", name, name, 1, device_id="0x101b", psid="MT_0000000223") for name in hosts})
    pairs = [*links, *((name, switch) for name, own in hosts.items() for switch in own)]
    return Picture(nodes, {cable((guids[one], number), (guids[other], number)): EDR for number, (one, other) in enumerate(pairs, 1)})


FABRIC = picture(
    ["leaf1", "leaf2", "spine1"],
    {"node1 mlx5_0": ["leaf1"], "node1 mlx5_1": ["leaf2"], "node2 HCA-1": ["leaf1"], "Node3.example.org mlx5_0": ["leaf2"], "gateway": ["spine1"]},
    [("leaf1", "spine1"), ("leaf2", "spine1")],
)


def test_where_hosts_are_and_what_they_have() -> None:
    found, doubtful = homes(FABRIC, ["node1", "node2.site", "node3", "node9"])
    assert doubtful == []
    assert {host: home.leaves for host, home in found.items()} == {"node1": ("leaf1", "leaf2"), "node2.site": ("leaf1",), "node3": ("leaf2",)}
    assert found["node1"].models == ("ConnectX6",) and found["node1"].psids == ("MT_0000000223",) and found["node1"].firmware == ()
    assert len(found["node1"].node_guids) == 2


def test_all_hosts_of_the_fabric() -> None:
    found, _doubtful = homes(FABRIC, None)
    assert sorted(found) == ["Node3", "gateway", "node1", "node2"]


def test_a_name_of_two_hosts_is_that_of_none() -> None:
    found, doubtful = homes(FABRIC, ["node1.a", "node1.b", "node2"])
    assert (sorted(found), doubtful) == (["node2"], ["node1"])


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["node1"], "node1"),
        (["node3", "node1", "node2", "login"], "login,node[1-3]"),
        (["n001", "n002", "n010", "n1"], "n1,n[001-002,010]"),
        (["a9", "a10", "a12"], "a[9-10,12]"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
    ],
)
def test_names_as_slurm_writes_them(names: t.Sequence[str], text: str) -> None:
    assert compressed(names) == text


def test_leaves_and_one_root() -> None:
    assert slurm_topology(FABRIC, ["node1", "node2", "node3"], root="ib").splitlines() == [
        "SwitchName=leaf1 Nodes=node[1-2]",
        "SwitchName=leaf2 Nodes=node3",
        "SwitchName=ib Switches=leaf[1-2]",
    ]


def test_a_single_switch_needs_no_root() -> None:
    assert slurm_topology(picture(["MF0;sw1:MSB7700/U1"], {"n1": ["MF0;sw1:MSB7700/U1"]}), None, root="ib") == "SwitchName=MF0_sw1_MSB7700_U1 Nodes=n1\n"
    assert slurm_topology(picture([], {}), None, root="ib") == ""


def test_switches_of_one_name() -> None:
    made = picture(["SX6036", "ib", "top"], {"n1": ["SX6036"], "n2": ["ib"]}, [("SX6036", "top"), ("ib", "top")])
    assert "SwitchName=ib_0000000000000002 Nodes=n2" in slurm_topology(made, None, root="ib")


def test_leaves_that_share_their_spines_are_one_switch() -> None:
    leaves, spines = ("l1", "l2", "l3", "l4"), {"l1": "s1", "l2": "s1", "l3": "s2", "l4": "s2"}
    links = [*spines.items(), ("s1", "core"), ("s2", "core")]
    made = picture([*leaves, "s1", "s2", "core"], {leaf.replace("l", "n"): [leaf] for leaf in leaves}, links)
    assert slurm_topology(made, None, root="ib").splitlines()[4:] == [
        "SwitchName=pod1 Switches=l[1-2]",
        "SwitchName=pod2 Switches=l[3-4]",
        "SwitchName=ib Switches=pod[1-2]",
    ]


@pytest.mark.parametrize("name", ["node1", "n", "r1-n1", "node_1", "node1.example.org", "1a", "0xnode"])
def test_names_of_hosts(name: str) -> None:
    assert is_host_name(name) and is_node_of_slurm(name)


@pytest.mark.parametrize(
    "name", [*hostile.NAMES, "", "1", "2130706433", "0x7f000001", "127.1", "localhost", "LocalHost.localdomain", "ip6-localhost", "a" * 254, "a..b"]
)
def test_what_is_no_name_of_a_host(name: str) -> None:
    # ALL is a valid host name but has another meaning in Slurm.
    assert (is_host_name(name), is_node_of_slurm(name)) == (name == "ALL", False)


@pytest.mark.parametrize("name", hostile.NAMES)
def test_slurm_gets_no_node_from_the_name_of_another(name: str) -> None:
    fabric = picture([name, "leaf1"], {"%s mlx5_0" % name: ["leaf1"], "good mlx5_0": [name]})
    lines = slurm_topology(fabric, None, root="fabric").splitlines()
    nodes = {line.split("Nodes=")[1] for line in lines if "Nodes=" in line}
    # The first word is the host: `node1 | sh` is node1.
    assert nodes <= {"good", "node1"} | {word for word in name.split()[:1] if is_node_of_slurm(word.partition(".")[0])}
    assert all(set(line) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-=[], ") for line in lines)


def test_switches_of_one_name_are_told_apart() -> None:
    fabric = picture(["leaf", "leaf ", "leaf_0000000000000002"], {"a1 x": ["leaf"], "a2 x": ["leaf "], "a3 x": ["leaf_0000000000000002"]})
    names = [line.split()[0] for line in slurm_topology(fabric, None, root="fabric").splitlines()]
    assert len(set(names)) == len(names)
