# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _netdevs
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port, read_ports
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ip import parse_links
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes

ETHER = "0c:42:a1:00:00:11"


def read(tmp_path: pathlib.Path, tree: nodes.Tree, *rows: dict[str, t.Any], refused: str = "") -> dict[str, Netdev]:
    root = nodes.write(tmp_path, tree)
    found = _netdevs.read_netdevs(root, read_ports(root), links=parse_links(nodes.ip_addr(*rows)), refused=refused)
    assert [netdev.name for netdev in found] == sorted(netdev.name for netdev in found)
    return {netdev.name: netdev for netdev in found}


def test_node_without_interfaces(tmp_path: pathlib.Path) -> None:
    assert read(tmp_path, {}) == {}


def test_connectx5(tmp_path: pathlib.Path) -> None:
    found = read(tmp_path, nodes.connectx5(), nodes.link("ib0", addr_info=[nodes.address("10.1.0.1/24")]))
    assert found["ib0"] == Netdev(
        name="ib0",
        kind="ipoib",
        port="mlx5_0/1",
        port_guid="0x0c42a10300000011",
        pkey="0xffff",
        mode="datagram",
        mtu=2044,
        up=True,
        carrier=True,
        addresses=("10.1.0.1/24",),
        hwaddr=nodes.hwaddr(nodes.CX5_GUIDS[0]),
        driver="mlx5_core",
        connected_capable=False,
        connected_reason="its hardware address starts with 00: the driver uses Enhanced IPoIB, which is datagram only",
    )
    assert found["ib1"].port == "mlx5_1/1"


def test_connectx3_can_do_connected_mode_on_both_ports(tmp_path: pathlib.Path) -> None:
    found = read(tmp_path, nodes.connectx3())
    assert {name: (netdev.port, netdev.mtu, netdev.connected_capable) for name, netdev in found.items()} == {
        "ib0": ("mlx4_0/1", 65520, True),
        "ib1": ("mlx4_0/2", 65520, True),
    }


def test_ports_are_told_apart_by_guid_and_not_by_order(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx3()
    tree.update(nodes.netdev("ib0", nodes.CX3, address=nodes.hwaddr(nodes.CX3_GUIDS[1], "80"), mode="datagram"))
    tree.update(nodes.netdev("ib1", nodes.CX3, address=nodes.hwaddr(nodes.CX3_GUIDS[0], "80"), mode="datagram", dev_port="1"))
    found = read(tmp_path, tree)
    assert (found["ib0"].port, found["ib1"].port) == ("mlx4_0/2", "mlx4_0/1")


def test_without_a_usable_address_the_device_and_its_port_number_decide(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx3()
    tree.update(nodes.netdev("ib1", nodes.CX3, address="aa:bb:cc:dd:ee:ff", mode="datagram", dev_port="1"))
    netdev = read(tmp_path, tree)["ib1"]
    assert (netdev.port, netdev.port_guid, netdev.connected_capable) == ("mlx4_0/2", nodes.CX3_GUIDS[1], False)
    assert "can't be read" in netdev.connected_reason


def test_renamed_interface(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx5()
    tree.update(nodes.netdev("storage", nodes.CX5[0], address=nodes.hwaddr(nodes.CX5_GUIDS[0]), mode="datagram"))
    assert read(tmp_path, tree)["storage"].port == "mlx5_0/1"


def test_child_made_through_sysfs(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx3()
    address = nodes.hwaddr(nodes.CX3_GUIDS[0], "80")
    tree.update(nodes.netdev("ib0.8001", address=address, mode="datagram", pkey="0x8001", parent="ib0"))
    child = read(tmp_path, tree)["ib0.8001"]
    assert (child.kind, child.parent, child.pkey, child.mode, child.port, child.connected_capable) == (
        "ipoib_child",
        "ib0",
        "0x8001",
        "datagram",
        "mlx4_0/1",
        True,
    )


def test_child_made_through_netlink_has_no_files(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx5()
    tree.update(nodes.netdev("storage", address=nodes.hwaddr(nodes.CX5_GUIDS[0])))
    data = {"key": "0x8001", "mode": "datagram", "umcast": "0000"}
    child = read(tmp_path, tree, nodes.link("storage", link="ib0", linkinfo={"info_kind": "ipoib", "info_data": data}))["storage"]
    assert (child.kind, child.parent, child.pkey, child.mode, child.port) == ("ipoib_child", "ib0", "0x8001", "datagram", "mlx5_0/1")


def test_child_without_iproute2_is_known_by_the_index_of_its_parent(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx5()
    tree.update(nodes.netdev("ib0", nodes.CX5[0], address=nodes.hwaddr(nodes.CX5_GUIDS[0]), mode="datagram", ifindex="7", iflink="7"))
    tree.update(nodes.netdev("x", address=nodes.hwaddr(nodes.CX5_GUIDS[0]), ifindex="9", iflink="7"))
    found = read(tmp_path, tree)
    assert (found["x"].kind, found["x"].parent) == ("ipoib_child", "ib0")
    assert found["ib0"].kind == "ipoib"


def bonded() -> nodes.Tree:
    tree = nodes.connectx5()
    tree.update(nodes.netdev("bond0", address=nodes.hwaddr(nodes.CX5_GUIDS[0])))
    tree["sys/devices/virtual/net/bond0/bonding/mode"] = "active-backup 1\n"
    for index, pci in enumerate(nodes.CX5):
        tree["%s/net/ib%d/master" % (nodes.pci_path(pci), index)] = nodes.Link("/sys/class/net/bond0")
    return tree


def test_bond_of_two_ports(tmp_path: pathlib.Path) -> None:
    found = read(tmp_path, bonded(), nodes.link("bond0", linkinfo={"info_kind": "bond"}, addr_info=[nodes.address("10.1.0.1/24")]))
    bond = found["bond0"]
    assert (bond.kind, bond.port, bond.members, bond.addresses, bond.mode) == ("bond", "", ("ib0", "ib1"), ("10.1.0.1/24",), "")
    assert [found[name].master for name in ("ib0", "ib1")] == ["bond0", "bond0"]
    assert [found[name].kind for name in ("ib0", "ib1")] == ["ipoib", "ipoib"]
    netdevs = tuple(found.values())
    assert {netdev.name for netdev in _netdevs.below("bond0", netdevs)} == {"bond0", "ib0", "ib1"}
    assert _netdevs.over_rdma("bond0", netdevs)
    assert not _netdevs.over_rdma("eth9", netdevs)


def test_roce_function(tmp_path: pathlib.Path) -> None:
    pci = nodes.CX5[0]
    tree = {
        **nodes.rdma("mlx5_0", pci, "0x1"),
        **nodes.port("mlx5_0/1", pci, "0x0e42a1fffe000011", "Ethernet", netdev="enp3s0f0np0"),
        **nodes.netdev("enp3s0f0np0", pci, 1, ETHER, mtu="9000"),
        **nodes.netdev("enp3s0f0npf0vf0", pci, 1, "02:00:00:00:00:01", phys_port_name="pf0vf0"),
    }
    found = read(tmp_path, tree)
    netdev = found["enp3s0f0np0"]
    assert (netdev.kind, netdev.port, netdev.mtu, netdev.mode, netdev.connected_capable) == ("ethernet", "mlx5_0/1", 9000, "", False)
    assert found["enp3s0f0npf0vf0"].port == ""


def test_roce_without_a_gid_table_goes_by_device_and_port_number(tmp_path: pathlib.Path) -> None:
    tree = nodes.rdma("mlx4_0", nodes.CX3, "0x1", "mlx4_core")
    for index in (0, 1):
        tree.update(nodes.port("mlx4_0/%d" % (index + 1), nodes.CX3, "0x000000000000000%d" % (index + 1), "Ethernet"))
        tree.update(nodes.netdev("eth%d" % index, nodes.CX3, 1, ETHER, dev_port=str(index)))
    found = read(tmp_path, tree)
    assert (found["eth0"].port, found["eth1"].port) == ("mlx4_0/1", "mlx4_0/2")


def test_soft_roce(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {
        "sys/class/infiniband/rxe0/parent": "veth0\n",
        "sys/class/infiniband/rxe0/ports/1/link_layer": "Ethernet\n",
        "sys/class/infiniband/rxe0/ports/1/gids/0": "fe80:0000:0000:0000:0a00:27ff:fe67:4f90\n",
        **nodes.netdev("veth0", "", 1, "08:00:27:67:4f:90"),
    }
    netdev = read(tmp_path, tree)["veth0"]
    assert (netdev.kind, netdev.port, netdev.port_guid) == ("other", "rxe0/1", "0x0a0027fffe674f90")


def test_bond_of_roce_functions_carries_the_port(tmp_path: pathlib.Path) -> None:
    tree = {
        **nodes.rdma("mlx5_bond_0", nodes.CX5[0], "0x1"),
        **nodes.port("mlx5_bond_0/1", nodes.CX5[0], nodes.CX5_GUIDS[0], "Ethernet", netdev="bond0"),
        **nodes.netdev("bond0", "", 1, ETHER),
    }
    netdev = read(tmp_path, tree, nodes.link("bond0", linkinfo={"info_kind": "bond"}))["bond0"]
    assert (netdev.kind, netdev.port) == ("bond", "mlx5_bond_0/1")


def test_virtual_interfaces_are_left_out_and_those_on_top_of_ports_kept(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx5()
    tree.update(nodes.netdev("lo", "", 772, "00:00:00:00:00:00"))
    tree.update(nodes.netdev("eth0", "0000:00:03.0", 1, ETHER))
    tree.update(nodes.netdev("vlan7", "", 1, ETHER))
    tree.update(nodes.netdev("br0", "", 1, ETHER))
    tree.update(nodes.netdev("veth1", "", 1, ETHER))
    tree["sys/class/net/bonding_masters"] = "bond0\n"
    tree["sys/devices/virtual/net/vlan7/master"] = nodes.Link("/sys/class/net/br0")
    vlan = nodes.link("vlan7", link="eth0", linkinfo={"info_kind": "vlan"})
    found = read(tmp_path, tree, vlan, nodes.link("br0", linkinfo={"info_kind": "bridge"}))
    assert {name: netdev.kind for name, netdev in found.items()} == {"br0": "bridge", "eth0": "ethernet", "ib0": "ipoib", "ib1": "ipoib", "vlan7": "vlan"}
    assert {netdev.name for netdev in _netdevs.below("br0", tuple(found.values()))} == {"br0", "vlan7", "eth0"}


def test_interface_that_is_down(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx5()
    tree.update(nodes.netdev("ib0", nodes.CX5[0], address=nodes.hwaddr(nodes.CX5_GUIDS[0]), flags="0x1002", carrier="", mode="datagram"))
    netdev = read(tmp_path, tree)["ib0"]
    assert (netdev.up, netdev.carrier) == (False, False)


def test_a_loop_of_parents_ends(tmp_path: pathlib.Path) -> None:
    netdevs = (Netdev("a", "vlan", parent="b"), Netdev("b", "vlan", parent="a"))
    assert {netdev.name for netdev in _netdevs.below("a", netdevs)} == {"a", "b"}


def test_ports_with_their_interfaces() -> None:
    ports = (Port("mlx5_0/1", "mlx5_0", 1), Port("mlx5_1/1", "mlx5_1", 1))
    netdevs = (Netdev("ib0", "ipoib", port="mlx5_0/1"), Netdev("ib0.8001", "ipoib_child", port="mlx5_0/1"))
    assert [port.netdevs for port in _netdevs.with_netdevs(ports, netdevs)] == [("ib0", "ib0.8001"), ()]


@pytest.mark.parametrize(
    ("first", "mode", "refused", "capable", "reason"),
    [
        ("80", "datagram", "", True, "announces connected mode"),
        ("a0", "datagram", "", True, "starts with a0"),
        ("00", "datagram", "", False, "Enhanced IPoIB"),
        ("80", "datagram", "the drivers refuse", False, "the drivers refuse"),
        ("00", "connected", "the drivers refuse", True, "is in connected mode"),
    ],
)
def test_connected_mode(first: str, mode: str, refused: str, capable: bool, reason: str) -> None:
    found = _netdevs.connected_capability(nodes.hwaddr(nodes.CX5_GUIDS[0], first), mode, refused)
    assert found[0] is capable
    assert reason in found[1]


def test_stack_that_refuses_connected_mode(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx3()
    tree.update(nodes.netdev("ib0", nodes.CX3, address=nodes.hwaddr(nodes.CX3_GUIDS[0], "80"), mode="datagram"))
    netdev = read(tmp_path, tree, refused="it does not")["ib0"]
    assert (netdev.connected_capable, netdev.connected_reason) == (False, "it does not")


@given(st.text(), st.text(), st.text())
def test_parsers_take_any_text(hwaddr: str, mode: str, refused: str) -> None:
    _netdevs.hwaddr_guid(hwaddr)
    _netdevs.connected_capability(hwaddr, mode, refused)
