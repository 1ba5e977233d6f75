# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bonds, routes and interfaces identified by their port: what is refused, and how the rest is interpreted."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._references import Naming, resolve
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Route, interfaces_of, settled

GUID0, GUID1, ALIEN = "0x0002c903000f0001", "0x0002c903000f0002", "0x0002c903000f00ff"


def port(number: int, guid: str) -> dict[str, t.Any]:
    return {"name": "mlx4_0/%d" % number, "device": "mlx4_0", "port": number, "link_layer": "InfiniBand", "port_guid": guid}


def netdev(name: str, guid: str, **more: t.Any) -> dict[str, t.Any]:
    found = {"name": name, "kind": "ipoib", "parent": "", "port_guid": guid, "connected_capable": True, "connected_reason": "it announces it"}
    return {**found, **more}


ETHERNET = ({"name": "bond9", "kind": "bond", "members": ["eth1"]}, {"name": "eth1", "kind": "ethernet"})
FACTS: dict[str, t.Any] = {
    "hcas": [{"name": "mlx4_0", "driver": "mlx4_core", "pci": "0000:03:00.0"}],
    "ports": [port(1, GUID0), port(2, GUID1)],
    "netdevs": [
        netdev("ibp3s0", GUID0),
        netdev("ibp3s0d1", GUID1),
        {"name": "bond9", "kind": "bond", "members": ["eth1"]},
        {"name": "eth1", "kind": "ethernet"},
    ],
    "modules": [{"name": "ib_ipoib"}],
}
FRESH = dict(FACTS, netdevs=[], modules=[])
BOND = {"name": "bond0", "bond": {"ports": ["ib0", "ib1"]}}
ADDRESSED = {"name": "ib0", "addresses": ["10.20.0.1/24"]}


def bond(**changes: t.Any) -> dict[str, t.Any]:
    return {"name": "bond0", "bond": {"ports": ["ib0", "ib1"], **changes}}


def routed(**route: t.Any) -> list[dict[str, t.Any]]:
    return [{**ADDRESSED, "routes": [route]}]


STATIC: list[tuple[list[dict[str, t.Any]], str, str]] = [
    ([{"name": "bond0", "bond": ["ib0"]}], "[0].bond", "a mapping with ports"),
    ([{"name": "bond0", "bond": {}}], "[0].bond.ports", "one or more interfaces"),
    ([bond(ports=["ib0", 7])], "[0].bond.ports[1]", "the name of a network interface"),
    ([bond(ports=["ib0", "ib0"])], "[0].bond.ports[1]", "once"),
    ([bond(ports=["ib0", "bond0"])], "[0].bond.ports[1]", "other than the bond itself"),
    ([bond(primary="ib2")], "[0].bond.primary", "one of the ports: ib0, ib1"),
    ([bond(mode="802.3ad")], "[0].bond.mode", "active-backup"),
    ([bond(fail_over_mac="none")], "[0].bond.fail_over_mac", "take over the hardware address"),
    ([bond(miimon=0)], "[0].bond.miimon", "is not detected"),
    ([bond(prim="ib0")], "[0].bond.prim", "did you mean primary?"),
    ([{**BOND, "pkey": 0x8001, "parent": "ib0"}, {"name": "ib0"}], "[0].bond", "children only on ports"),
    ([{"bond": {"ports": ["ib0"]}, "port_guid": GUID0}], "[0].bond", "an entry with a name"),
    ([BOND, {"name": "bond1", "bond": {"ports": ["ib1", "ib2"]}}], "[1].bond.ports[0]", "bond0 has it already"),
    ([BOND, {"name": "bond1", "bond": {"ports": ["bond0"]}}], "[1].bond.ports[0]", "does not bond bonds"),
    ([BOND, {"parent": "bond0", "pkey": 0x8001}], "[1].parent", "bond the children"),
    ([BOND, ADDRESSED], "[0].bond.ports[0]", "belong to the bond"),
    ([BOND, {"name": "ib1", "state": "absent"}], "[0].bond.ports[1]", "declares it absent"),
    ([bond(ports=["ib0.8001"])], "[0].bond.ports[0]", "declare it by an entry with its parent and pkey"),
    ([{**BOND, "mode": "connected"}, {"name": "ib0", "mode": "datagram"}], "[1].mode", "'datagram'; allowed: connected"),
    ([BOND, {"name": "ib0", "mtu": 2044}, {"name": "ib1", "mtu": 4092}], "[2].mtu", "4092; allowed: 2044"),
    ([bond(ports=["ib0", "ib1.8001"]), {"parent": "ib1", "pkey": 0x8001}, {"name": "ib1"}], "[0].bond.ports", "on one partition"),
    (routed(to="10.30.0.1/16", via="10.20.0.254"), "[0].routes[0].to", "host bits set"),
    (routed(to="default"), "[0].routes[0].via", "a default route needs one"),
    (routed(to="10.30.0.0/16", via="10.21.0.254"), "[0].routes[0].via", "in a network of this interface"),
    (routed(to="fd00::/64", via="10.20.0.254"), "[0].routes[0].via", "an IPv6 address"),
    (routed(to="10.30.0.0/16", via="gate"), "[0].routes[0].via", "the address of a gateway"),
    (routed(to="10.30.0.0/16", metric=0), "[0].routes[0].metric", "1 to 4294967295"),
    (routed(to="10.30.0.0/16", gateway="10.20.0.254"), "[0].routes[0].gateway", "one of the keys"),
    ([{**ADDRESSED, "routes": "default"}], "[0].routes", "a list"),
    ([{**ADDRESSED, "routes": [{"to": "10.30.0.0/16"}] * 2}], "[0].routes[1]", "each destination once"),
    ([{"port_guid": "0002c903000f0001"}], "[0].port_guid", "16 hexadecimal digits"),
    ([{"port_guid": 12}], "[0].port_guid", "in quotes"),
    ([{"pci": "03:00"}], "[0].pci", "0000:03:00.0"),
    ([{"pci": "0000:03:00.0", "port_guid": GUID0}], "[0].pci", "either pci or port_guid"),
]


@pytest.mark.parametrize(("interfaces", "variable", "words"), STATIC)
def test_bad_interfaces(interfaces: list[dict[str, t.Any]], variable: str, words: str) -> None:
    found = [problem for problem in problems({"ipoib_interfaces": interfaces}) if problem.variable == "ipoib_interfaces" + variable]
    assert len(found) >= 1
    assert words in " ".join(map(str, found))


NODE: list[tuple[list[dict[str, t.Any]], str, str]] = [
    ([{"port_guid": ALIEN}], "[0].port_guid", "0x0002c903000f0001 (mlx4_0/1)"),
    ([{"pci": "0000:04:00.0"}], "[0].pci", "0000:03:00.0"),
    ([{"pci": "0000:03:00.0"}], "[0].pci", "0000:03:00.0/1 or 0000:03:00.0/2 (the adapter has 2 ports)"),
    ([{"pci": "0000:03:00.0/3"}], "[0].pci", "0000:03:00.0"),
    ([{"port_guid": GUID0}, {"name": "x", "port_guid": GUID0.upper().replace("0X", "0x")}], "[1]", "each port once"),
    ([{"port_guid": GUID0}, {"name": "ibp3s0"}], "[1].name", "each interface once"),
    ([{"name": "bond0", "bond": {"ports": [GUID0, ALIEN]}}], "[0].bond.ports[1]", "InfiniBand port of this node"),
    ([{"parent": ALIEN, "pkey": 0x8001}], "[0].parent", "InfiniBand port of this node"),
    ([{"name": "bond9", "bond": {"ports": ["ibp3s0"]}}], "[0].name", "bond9 is a bond of eth1"),
    ([{"name": "eth1", "bond": {"ports": ["ibp3s0"]}}], "[0].name", "of kind ethernet"),
    ([{"name": "bond0", "bond": {"ports": ["ibp3s0", "ib7"]}}], "[0].bond.ports[1]", "not one of its interfaces"),
]


@pytest.mark.parametrize(("interfaces", "variable", "words"), NODE)
def test_what_the_node_can_not_do(interfaces: list[dict[str, t.Any]], variable: str, words: str) -> None:
    assert problems({"ipoib_interfaces": interfaces}) == []
    found = problems({"ipoib_interfaces": interfaces}, FACTS)
    assert [problem.variable for problem in found] == ["ipoib_interfaces" + variable]
    assert words in str(found[0])


def test_a_port_that_can_not_do_the_mode_of_its_bond() -> None:
    node = dict(FACTS, netdevs=[netdev("ib0", GUID0), netdev("ib1", GUID1, connected_capable=False, connected_reason="enhanced")])
    found = problems({"ipoib_interfaces": [{**BOND, "mode": "connected"}]}, node)
    assert [(problem.variable, problem.hint) for problem in found] == [("ipoib_interfaces[0].bond.ports[1].mode", "enhanced")]
    assert {interface.name: interface.mode for interface in settled(interfaces_of([BOND]))} == {"ib0": "datagram", "ib1": "datagram", "bond0": "datagram"}


def test_the_mtu_of_connected_mode_needs_the_mode_on_the_bond_or_a_port() -> None:
    (problem,) = problems({"ipoib_interfaces": [{**BOND, "mtu": 65520}]})
    assert (problem.variable, problem.value) == ("ipoib_interfaces[0].mtu", 65520)
    assert problems({"ipoib_interfaces": [{**BOND, "mtu": 65520}, {"name": "ib1", "mode": "connected"}]}) == []


GOOD: list[list[dict[str, t.Any]]] = [
    [BOND],
    [{**BOND, "mode": "connected", "mtu": 65520, "addresses": ["10.20.0.1/24"], "routes": [{"to": "default", "via": "10.20.0.254"}]}],
    [bond(primary="ib1", miimon="50", mode="active-backup", fail_over_mac="active"), {"name": "ib0", "mode": "datagram"}, {"name": "ib1"}],
    [
        {"parent": "ib0", "pkey": 0x8001},
        {"parent": "ib1", "pkey": 0x8001},
        {"name": "ib0"},
        {"name": "ib1"},
        {"name": "bond0", "bond": {"ports": ["ib0.8001", "ib1.8001"]}},
    ],
    [BOND, {"parent": "ib0", "pkey": 0x8001}],
    [{"port_guid": GUID0}, {"parent": GUID0, "pkey": 0x8001}],
    [{"name": "storage", "port_guid": GUID1}, {"name": "bond0", "bond": {"ports": [GUID0, "storage"], "primary": GUID0}}],
    [{"port_guid": ALIEN, "state": "absent"}],
    [{"name": "ib0", "addresses": ["fd00::1/64"], "routes": [{"to": "default", "via": "fe80::1"}, {"to": "fd01::/64"}]}],
]


@pytest.mark.parametrize("interfaces", GOOD)
def test_good_input(interfaces: list[dict[str, t.Any]]) -> None:
    assert problems({"ipoib_interfaces": interfaces}) == []
    assert problems({"ipoib_interfaces": interfaces}, FRESH) == []


def test_ports_take_after_their_bond() -> None:
    found = interfaces_of([{**BOND, "mtu": 4092, "addresses": ["10.20.0.1/24"]}, {"name": "ib1", "mode": "datagram"}])
    assert [(item.name, item.mode, item.mtu, item.master, item.addresses) for item in found] == [
        ("ib0", "datagram", 4092, "bond0", ()),
        ("ib1", "datagram", 4092, "bond0", ()),
        ("bond0", "datagram", 4092, "", ("10.20.0.1/24",)),
    ]
    assert found[2].bond == Bond(("ib0", "ib1"), "", 100)


def test_routes_have_one_spelling() -> None:
    routes = [{"to": "default", "via": "fd00:0::1"}, {"to": "10.30.0.0/16", "via": "10.20.0.254", "metric": "100"}, {"to": "10.1.2.3"}]
    (found,) = interfaces_of([{"name": "ib0", "addresses": ["10.20.0.1/24", "fd00::2/64"], "routes": routes}])
    assert found.routes == (Route("::/0", "fd00::1"), Route("10.30.0.0/16", "10.20.0.254", 100), Route("10.1.2.3/32"))


def test_ports_are_found_whatever_their_interfaces_are_called() -> None:
    declared: list[tuple[str, t.Mapping[str, t.Any]]] = [
        ("a", {"port_guid": GUID0}),
        ("b", {"name": "storage", "port_guid": GUID1}),
        ("c", {"parent": GUID0, "pkey": 0x8001}),
        ("d", {"name": "bond0", "bond": {"ports": [GUID0, GUID1], "primary": GUID1}}),
    ]
    found = resolve(declared, FACTS)
    assert [item.get("name") for item in found.interfaces] == ["ibp3s0", "storage", None, "bond0"]
    assert found.interfaces[2]["parent"] == "ibp3s0"
    assert found.interfaces[3]["bond"] == {"ports": ["ibp3s0", "storage"], "primary": "storage"}
    assert found.namings == (Naming("storage", GUID1, "ibp3s0d1"),)
    assert [item.get("name") for item in resolve(declared, FRESH).interfaces] == ["ib0", "storage", None, "bond0"]
    by_place: list[tuple[str, t.Mapping[str, t.Any]]] = [("a", {"pci": "0000:03:00.0/1"}), ("b", {"pci": "03:00.0/2"})]
    assert [item["name"] for item in resolve(by_place, FACTS).interfaces] == ["ibp3s0", "ibp3s0d1"]
