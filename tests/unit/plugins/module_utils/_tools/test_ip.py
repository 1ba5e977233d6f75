# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _ip
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ip import Link, RuleRow, parse_rules, parse_table, parse_up
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes

CHILD = nodes.link(
    "ib0.8001", link="ib0", linkinfo={"info_kind": "ipoib", "info_data": {"key": "0x8001", "mode": "datagram", "umcast": "0000"}}, master="bond0"
)


def test_child_made_through_netlink() -> None:
    assert _ip.parse_links(nodes.ip_addr(CHILD)) == {"ib0.8001": Link("ib0.8001", "ipoib", "ib0", "bond0", "0x8001", "datagram")}


def test_addresses_without_link_local_and_apart_from_dynamic_ones() -> None:
    row = nodes.link(
        "ib0",
        addr_info=[
            nodes.address("10.1.0.2/24"),
            nodes.address("10.1.0.1/24"),
            nodes.address("fd00::1/64"),
            nodes.address("fe80::1/64", scope="link"),
            nodes.address("2001:db8::5/64", dynamic=True),
        ],
    )
    link = _ip.parse_links(nodes.ip_addr(row))["ib0"]
    assert link.addresses == ("10.1.0.1/24", "10.1.0.2/24", "fd00::1/64")
    assert link.dynamic_addresses == ("2001:db8::5/64",)


def test_empty_objects_of_old_releases() -> None:
    assert list(_ip.parse_links(nodes.ip_addr({}, nodes.link("eth0"), {}))) == ["eth0"]


@pytest.mark.parametrize("text", ["", " \n", "[]"])
def test_nothing(text: str) -> None:
    assert _ip.parse_links(text) == {}


@pytest.mark.parametrize("text", ['Object "-j" is unknown', "{}", '[{"ifname":'])
def test_no_json_list(text: str) -> None:
    with pytest.raises(UnexpectedOutput, match="ip -j -d addr"):
        _ip.parse_links(text)


_LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("ipoib")
_KEYS = st.sampled_from(["ifname", "link", "master", "linkinfo", "info_kind", "info_data", "key", "mode", "addr_info", "local", "family", "prefixlen"])
_ANY = st.recursive(_LEAF, lambda inner: st.dictionaries(_KEYS, inner, max_size=4) | st.lists(inner, max_size=2), max_leaves=6)


@given(st.lists(st.dictionaries(_KEYS, _ANY, max_size=6), max_size=2))
def test_any_json(rows: list[t.Any]) -> None:
    for name, link in _ip.parse_links(nodes.ip_addr(*rows)).items():
        assert link.name == name


def test_route() -> None:
    assert _ip.parse_route_device('[{"dst":"10.1.0.254","dev":"bond0","prefsrc":"10.1.0.1","flags":[],"uid":0,"cache":[]}]') == "bond0"
    assert _ip.parse_route_device("") == ""


def test_no_route_and_no_tool() -> None:
    unreachable = nodes.FakeRunner({"ip": Output(2, "", "RTNETLINK answers: Network is unreachable")})
    assert _ip.route_device(unreachable, "192.0.2.1") == ""
    assert unreachable.ran == ["ip -j route get 192.0.2.1"]
    assert _ip.route_device(nodes.FakeRunner(), "192.0.2.1") == ""
    assert _ip.read_links(nodes.FakeRunner()) == {}


def test_static_routes_are_those_that_somebody_configured() -> None:
    rows = [
        {"dst": "default", "gateway": "10.20.0.254", "dev": "ib0", "flags": []},
        {"dst": "10.30.0.0/16", "gateway": "10.20.0.254", "dev": "ib0", "protocol": "static", "metric": 100, "flags": []},
        {"dst": "10.31.0.9", "dev": "ib0", "protocol": "boot", "scope": "link", "flags": ["linkdown"]},
        {"dst": "10.20.0.0/24", "dev": "ib0", "protocol": "kernel", "prefsrc": "10.20.0.1"},
        {"dst": "10.40.0.0/24", "dev": "ib0", "protocol": "bird"},
        {"dst": "10.50.0.0/24", "dev": "eth0", "protocol": "dhcp"},
        {"type": "blackhole", "dst": "10.60.0.0/24", "dev": "lo", "protocol": "static"},
        {"dst": "10.70.0.0/24", "protocol": "static", "nexthops": [{"dev": "ib0"}]},
    ]
    assert _ip.parse_static_routes(json.dumps(rows), 4) == [
        _ip.RouteRow("ib0", "0.0.0.0/0", "10.20.0.254"),
        _ip.RouteRow("ib0", "10.30.0.0/16", "10.20.0.254", 100),
        _ip.RouteRow("ib0", "10.31.0.9/32"),
    ]
    assert _ip.parse_static_routes('[{"dst":"fd01::1","dev":"ib0","metric":1024},{"dst":"default","dev":"ib0","gateway":"fe80::1"}]', 6) == [
        _ip.RouteRow("ib0", "fd01::1/128", "", 1024),
        _ip.RouteRow("ib0", "::/0", "fe80::1"),
    ]


def test_rules_and_their_tables() -> None:
    rules = (
        '[{"priority":0,"src":"all","table":"local"},{"priority":30700,"src":"10.20.0.1","table":"30700"},'
        '{"priority":30702,"src":"10.0.0.0","srclen":8,"table":"main"},{"src":"all"}]'
    )
    assert parse_rules(rules) == [RuleRow(0, "", 0), RuleRow(30700, "10.20.0.1", 30700), RuleRow(30702, "10.0.0.0/8", 0)]
    assert parse_table('[{"dst":"10.20.0.0/16","dev":"ib1","scope":"link","flags":["linkdown"]},{"dst":"default","gateway":"10.0.0.1"}]') == [
        ("10.20.0.0/16", "ib1")
    ]
    assert parse_up('[{},{"ifname":"ib0","addr_info":[{"local":"10.20.0.1","prefixlen":16},7]},{"ifname":"ib1"}]') == [("ib0", "10.20.0.1")]
    assert parse_rules("") == parse_table("") == parse_up("") == []
