# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _namespaces, _sockets
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes
from support.node_files import ROUTE4

ROUTE6 = """fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001   ib0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
"""


@pytest.mark.parametrize(
    ("address", "device"),
    [
        ("10.0.1.7", ""),
        ("10.1.0.7", "ib0"),
        ("192.0.2.9", "eth0"),
        ("203.0.113.1", "eth0"),
        ("fd00::7", "ib0"),
        ("[fd00::7]", "ib0"),
        ("2001:db8::1", "eth0"),
        ("fd00::7%ib0", "ib0"),
        ("server.example.org", ""),
        ("", ""),
    ],
)
def test_device(address: str, device: str) -> None:
    routes = _sockets.parse_route4(ROUTE4, "little") + _sockets.parse_route6(ROUTE6)
    # Without the default IPv4 route, the unknown stays unknown.
    if not device:
        routes = tuple(route for route in routes if route.network.prefixlen)
    assert _sockets.Table(routes).device_of(address) == device


def test_big_endian_machine() -> None:
    line = "Iface D G F R U M M\nib0 0A010000 00000000 0001 0 0 0 FFFFFF00 0 0 0\n"
    assert [str(route.network) for route in _sockets.parse_route4(line, "big")] == ["10.1.0.0/24"]


def test_reject_routes_lead_nowhere() -> None:
    assert all(route.device in ("eth0", "ib0", "ib1") for route in _sockets.parse_route4(ROUTE4, "little") + _sockets.parse_route6(ROUTE6))


def test_node(tmp_path: pathlib.Path) -> None:
    assert _namespaces.read_namespaces(str(tmp_path), ())[0].routes == ()
    assert len(_namespaces.read_namespaces(nodes.write(tmp_path, {"proc/net/route": ROUTE4, "proc/net/ipv6_route": ROUTE6}), ())[0].routes) == 6


@given(st.text(), st.text(alphabet="0123456789abcdefF \n", max_size=200))
def test_any_text(text: str, digits: str) -> None:
    for each in (text, digits):
        _sockets.Table(_sockets.parse_route4(each) + _sockets.parse_route6(each)).device_of(each)


_WORD = st.text("0123456789abcdefABCDEF", min_size=8, max_size=8)


@given(_WORD, _WORD, st.text("0123456789abcdef", min_size=1, max_size=4), st.text(max_size=5))
def test_any_masks(destination: str, mask: str, flags: str, metric: str) -> None:
    _sockets.parse_route4(f"ib0\t{destination}\t00000000\t{flags}\t0\t0\t{metric}\t{mask}\t0")
