# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bad input: all errors are reported together, each with variable, value and the allowed values."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._input import problems
from hypothesis import given
from hypothesis import strategies as st

MLX5 = types.MappingProxyType({"name": "mlx5_0", "driver": "mlx5_core", "type": "MT4119"})
MLX4 = {"name": "mlx4_0", "driver": "mlx4_core", "type": "MT4099"}
CONNECT_IB = {"name": "mlx5_0", "driver": "mlx5_core", "type": "MT4113"}


def facts(hca: t.Mapping[str, str] | None = None, ports: int = 1, netdevs: t.Sequence[t.Mapping[str, t.Any]] = (), loaded: bool = False) -> dict[str, t.Any]:
    hca = hca or MLX5
    return {
        "hcas": [hca] if ports else [],
        "ports": [{"name": "%s/%d" % (hca["name"], port + 1), "device": hca["name"], "link_layer": "InfiniBand"} for port in range(ports)],
        "netdevs": list(netdevs),
        "modules": [{"name": "ib_ipoib"}] if loaded else [],
    }


GUID0, GUID1 = "0x0002c903000f0001", "0x0002c903000f0002"
IB0 = {"name": "ib0", "kind": "ipoib", "parent": "", "connected_capable": False, "connected_reason": "Enhanced IPoIB"}
IB1_CAPABLE = {"name": "ib1", "kind": "ipoib", "parent": "", "connected_capable": True, "connected_reason": "it announces it"}
OFED = {"kind": "mlnx_ofed", "ofed_version": "24.07-0.6.1.0"}
ETHERNET = [{"name": "mlx5_0/1", "device": "mlx5_0", "link_layer": "Ethernet"}]
ETH0 = {"name": "eth0", "kind": "ethernet", "parent": ""}

STATIC: list[tuple[t.Any, str, str]] = [
    ("ib0", "ipoib_interfaces", "a list of interfaces"),
    (None, "ipoib_interfaces", "a list of interfaces"),
    ({"name": "ib0"}, "ipoib_interfaces", "a list of interfaces"),
    (["ib0"], "ipoib_interfaces[0]", "a mapping"),
    ([{}], "ipoib_interfaces[0].name", "the name of a network interface"),
    ([{"name": 7}], "ipoib_interfaces[0].name", "the name of a network interface"),
    ([{"name": "ib0; reboot"}], "ipoib_interfaces[0].name", "the name of a network interface"),
    ([{"name": "ib0\n"}], "ipoib_interfaces[0].name", "the name of a network interface"),
    ([{"name": "averylonginterface"}], "ipoib_interfaces[0].name", "1 to 15"),
    ([{"name": "ib0", "adresses": []}], "ipoib_interfaces[0].adresses", "did you mean addresses?"),
    ([{"name": "ib0", 7: 8}], "ipoib_interfaces[0].7", "one of the keys"),
    ([{"name": "ib0", "addresses": "10.0.0.1/24"}], "ipoib_interfaces[0].addresses", "a list"),
    ([{"name": "ib0", "addresses": ["10.0.0.1"]}], "ipoib_interfaces[0].addresses[0]", "the prefix length is missing"),
    ([{"name": "ib0", "addresses": ["10.0.0.1/24", "10.0.0.0/24"]}], "ipoib_interfaces[0].addresses[1]", "the network 10.0.0.0/24 itself"),
    ([{"name": "ib0", "addresses": ["10.0.0.255/24"]}], "ipoib_interfaces[0].addresses[0]", "broadcast"),
    ([{"name": "ib0", "addresses": ["10.0.0.1/255.255.255.0"]}], "ipoib_interfaces[0].addresses[0]", "number of network bits"),
    ([{"name": "ib0", "addresses": ["10.0.0.300/24"]}], "ipoib_interfaces[0].addresses[0]", "prefix length"),
    ([{"name": "ib0", "addresses": ["10.0.0.1/33"]}], "ipoib_interfaces[0].addresses[0]", "prefix length"),
    ([{"name": "ib0", "addresses": ["224.0.0.1/24"]}], "ipoib_interfaces[0].addresses[0]", "unicast"),
    ([{"name": "ib0", "addresses": ["fd00::/64"]}], "ipoib_interfaces[0].addresses[0]", "itself"),
    ([{"name": "ib0", "addresses": [10]}], "ipoib_interfaces[0].addresses[0]", "an address of this host"),
    ([{"name": "ib0", "addresses": ["10.0.0.1/24"]}, {"name": "ib1", "addresses": ["10.0.0.1/16"]}], "ipoib_interfaces[1].addresses[0]", "once"),
    ([{"name": "ib0"}, {"name": "ib0"}], "ipoib_interfaces[1].name", "once"),
    ([{"name": "ib0", "mode": "fast"}], "ipoib_interfaces[0].mode", "auto or datagram or connected"),
    ([{"name": "ib0", "mode": ["auto"]}], "ipoib_interfaces[0].mode", "auto or datagram or connected"),
    ([{"name": "ib0", "state": True}], "ipoib_interfaces[0].state", "present or absent"),
    ([{"name": "ib0", "mtu": "jumbo"}], "ipoib_interfaces[0].mtu", "68 to 65520"),
    ([{"name": "ib0", "mtu": True}], "ipoib_interfaces[0].mtu", "68 to 65520"),
    ([{"name": "ib0", "mtu": 67}], "ipoib_interfaces[0].mtu", "68 to 65520"),
    ([{"name": "ib0", "mode": "datagram", "mtu": 4093}], "ipoib_interfaces[0].mtu", "68 to 4092 in datagram mode"),
    ([{"name": "ib0", "mtu": 4093}], "ipoib_interfaces[0].mtu", "68 to 4092 in datagram mode (datagram is the default; mode: connected allows more"),
    ([{"name": "ib0", "mode": "connected", "mtu": 65521}], "ipoib_interfaces[0].mtu", "68 to 65520 in connected mode"),
    ([{"name": "ib0", "mtu": 1279, "addresses": ["10.0.0.1/24", "fd00::1/64"]}], "ipoib_interfaces[0].mtu", "1280 or more on an interface with an IPv6"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": 0}], "ipoib_interfaces[1].pkey", "must not be zero"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": 0x8000}], "ipoib_interfaces[1].pkey", "must not be zero"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": "0x8000"}], "ipoib_interfaces[1].pkey", "must not be zero"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": 0x10000}], "ipoib_interfaces[1].pkey", "0x8001 to 0xffff"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": "blue"}], "ipoib_interfaces[1].pkey", "0x8001 to 0xffff"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": True}], "ipoib_interfaces[1].pkey", "0x8001 to 0xffff"),
    ([{"name": "ib0"}, {"name": "ib0.8001", "parent": "ib0"}], "ipoib_interfaces[1].pkey", "a child needs a pkey"),
    ([{"name": "ib0.8001", "pkey": 0x8001}], "ipoib_interfaces[0].parent", "a pkey needs a parent"),
    ([{"name": "ib0"}, {"name": "mine", "parent": "ib0", "pkey": 0x8001}], "ipoib_interfaces[1].name", "ib0.8001"),
    ([{"parent": "ib0", "pkey": 0x8001}], "ipoib_interfaces[0].parent", "declare ib0"),
    ([{"name": "ib0", "state": "absent"}, {"parent": "ib0", "pkey": 1}], "ipoib_interfaces[1].parent", "a child is removed with its parent"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": 1}, {"parent": "ib0", "pkey": 0x8001}], "ipoib_interfaces[2].pkey", "each partition once"),
    (
        [{"name": "ib0"}, {"parent": "ib0", "pkey": 0x8001}, {"parent": "ib0.8001", "pkey": 0x8002}],
        "ipoib_interfaces[2].parent",
        "refuses children of children",
    ),
]


@pytest.mark.parametrize(("interfaces", "variable", "words"), STATIC)
def test_bad_interfaces(interfaces: t.Any, variable: str, words: str) -> None:
    found = problems({"ipoib_interfaces": interfaces})
    assert [problem.variable for problem in found] == [variable]
    assert words in str(found[0])


@pytest.mark.parametrize(
    ("variables", "variable"),
    [
        ({"ipoib_state": "gone"}, "ipoib_state"),
        ({"ipoib_backend": "connman"}, "ipoib_backend"),
        ({"ipoib_backup": "perhaps"}, "ipoib_backup"),
        ({"ipoib_state": []}, "ipoib_state"),
        ({"ipoib_rollback_timeout": 5}, "ipoib_rollback_timeout"),
        ({"ipoib_rollback_timeout": "soon"}, "ipoib_rollback_timeout"),
    ],
)
def test_bad_scalars(variables: dict[str, t.Any], variable: str) -> None:
    assert [problem.variable for problem in problems(variables)] == [variable]


NODE: list[tuple[list[dict[str, t.Any]], dict[str, t.Any], str, str]] = [
    ([{"name": "ib0"}], facts(ports=0), "ipoib_interfaces[0].name", "declared port on a node without HCA"),
    ([{"name": "ib0"}], {**facts(), "ports": ETHERNET}, "ipoib_interfaces[0].name", "mlx5_0/1 is in Ethernet mode"),
    ([{"name": "ib0"}, {"name": "ib1"}], facts(), "ipoib_interfaces[1].name", "mlx5_0/1"),
    ([{"name": "ib7"}], facts(netdevs=[IB0, IB1_CAPABLE], loaded=True), "ipoib_interfaces[0].name", "ib0, ib1"),
    ([{"name": "eth0"}], facts(netdevs=[ETH0, IB0], loaded=True), "ipoib_interfaces[0].name", "eth0 is not an IPoIB interface, but of kind ethernet"),
    ([{"name": "ib0", "mode": "connected"}], facts(netdevs=[IB0], loaded=True), "ipoib_interfaces[0].mode", "Enhanced IPoIB"),
    ([{"name": "ib0", "mode": "connected"}], facts(), "ipoib_interfaces[0].mode", "datagram only"),
    ([{"name": "ib0", "mode": "connected"}], dict(facts(MLX4), stack=OFED), "ipoib_interfaces[0].mode", "releases from 23.07 on"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": 0xFFFF}], facts(), "ipoib_interfaces[1].pkey", "ib0 itself is on that partition (0xffff)"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": 0x7FFF}], facts(netdevs=[IB0]), "ipoib_interfaces[1].pkey", "'0x7fff'"),
    (
        [{"name": "ib0"}, {"parent": "ib0", "pkey": 1}],
        facts(netdevs=[dict(IB0, pkey="0x8001")]),
        "ipoib_interfaces[1].pkey",
        "ib0 itself is on that partition (0x8001)",
    ),
    ([{"name": "ib0", "addresses": ["fd00::1/64"]}], dict(facts(), ipv6_refused={"default": "it is off"}), "ipoib_interfaces[0].addresses", "it is off"),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": 1, "mode": "connected"}], facts(netdevs=[IB0]), "ipoib_interfaces[1].mode", "Enhanced IPoIB"),
]


@pytest.mark.parametrize(("interfaces", "node", "variable", "words"), NODE)
def test_what_the_node_can_not_do(interfaces: list[dict[str, t.Any]], node: dict[str, t.Any], variable: str, words: str) -> None:
    assert problems({"ipoib_interfaces": interfaces}) == []
    found = problems({"ipoib_interfaces": interfaces}, node)
    assert [problem.variable for problem in found] == [variable]
    assert words in str(found[0])


GOOD: list[tuple[list[dict[str, t.Any]], dict[str, t.Any]]] = [
    ([], facts(ports=0)),
    ([{"name": "ib0", "state": "absent"}], facts(ports=0)),
    ([{"name": "ib0", "addresses": ["10.0.0.1/31", "10.0.0.2/32", "fd00::1/128"]}], facts()),
    ([{"name": "ib0", "mode": "connected", "mtu": "65520"}], facts(MLX4)),
    ([{"name": "ib0", "mode": "connected"}], facts(CONNECT_IB)),
    ([{"name": "ib0", "mtu": 1280, "addresses": ["fd00::1/64"]}], dict(facts(netdevs=[IB0]), ipv6_refused={"default": "it is off"})),
    ([{"name": "ib0", "mtu": 576, "addresses": ["10.0.0.1/24"]}], dict(facts(), ipv6_refused={"default": "it is off"})),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": 0xFFFF}], facts(netdevs=[dict(IB0, pkey="0x8001")])),
    ([{"name": "ib1", "mode": "connected"}], facts(netdevs=[IB0, IB1_CAPABLE], ports=2, loaded=True)),
    ([{"name": "ib0", "mode": None, "mtu": None, "addresses": None, "parent": None, "pkey": None}], facts()),
    ([{"name": "ib0"}, {"parent": "ib0", "pkey": "0x7ffe"}, {"name": "ib0.8001", "parent": "ib0", "pkey": 32769}], facts()),
]


@pytest.mark.parametrize(("interfaces", "node"), GOOD)
def test_good_input(interfaces: list[dict[str, t.Any]], node: dict[str, t.Any]) -> None:
    assert problems({"ipoib_interfaces": interfaces, "ipoib_state": "present", "ipoib_backend": "auto"}, node) == []


def test_everything_at_once() -> None:
    found = problems(
        {
            "ipoib_state": "x",
            "ipoib_interfaces": [{"name": "ib0", "addresses": ["x", "y/8"], "mtu": 1, "mode": "z"}, {"name": "ib9", "mode": "connected"}],
        },
        facts(netdevs=[IB0], loaded=True),
    )
    assert [problem.variable for problem in found] == [
        "ipoib_state",
        "ipoib_interfaces[0].mode",
        "ipoib_interfaces[0].addresses[0]",
        "ipoib_interfaces[0].addresses[1]",
        "ipoib_interfaces[0].mtu",
        "ipoib_interfaces[1].name",
    ]


KEYS = st.sampled_from([*_wanted.KEYS, *_wanted.BOND_KEYS, *_wanted.ROUTE_KEYS, "x"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["ib0", "10.0.0.1/24", "connected", "absent", GUID0, "default"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(JUNK, JUNK)
def test_no_input_makes_it_fail(interfaces: t.Any, other: t.Any) -> None:
    problems({"ipoib_interfaces": interfaces, "ipoib_state": other, "ipoib_backend": other, "ipoib_rollback_timeout": other}, facts(netdevs=[IB0], loaded=True))


@pytest.mark.parametrize(("value", "good"), [(True, True), ("no", True), (None, True), ("ipv4", False), (["x"], False)])
def test_dhcp_is_a_boolean(value: t.Any, good: bool) -> None:
    found = problems({"ipoib_interfaces": [{"name": "ib0", "dhcp": value}]})
    assert [problem.variable for problem in found] == ([] if good else ["ipoib_interfaces[0].dhcp"])


def test_a_port_of_a_bond_gets_no_address() -> None:
    entries = [{"name": "bond0", "bond": {"ports": ["ib0"]}, "dhcp": True}, {"name": "ib0", "dhcp": True}]
    (problem,) = problems({"ipoib_interfaces": entries})
    assert "an interface without addresses, routes and dhcp" in str(problem)
