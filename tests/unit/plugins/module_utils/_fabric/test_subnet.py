# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The combined result of two tools that inspected a subnet one after the other."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._subnet import Link, Subnet, is_below, join, lanes, lower
from ansible_collections.rdma.ofed.plugins.module_utils._tools._iblinkinfo import LinkPort, LinkPorts, LinkState
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ibnetdiscover import parse_topology

LEAF, HOST, HOST_PORT = "0x0000000000200000", "0x0000000000100000", "0x0000000000100001"
TEXT = """\
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x200000
switchguid=0x200000(200000)
Switch\t36 "S-0000000000200000"\t\t# "leaf1" enhanced port 0 lid 2 lmc 0
[1]\t"H-0000000000100000"[1](100001) \t\t# "node1 HCA-1" lid 3 4xEDR

vendid=0x2c9
devid=0x1017
sysimgguid=0x100000
caguid=0x100000
Ca\t1 "H-0000000000100000"\t\t# "node1 HCA-1"
[1](100001) \t"S-0000000000200000"[1]\t\t# lid 3 lmc 0 "leaf1" lid 2 4xEDR
"""
UP = LinkState("Active", "LinkUp", "4X", "EDR")
AT_LEAF = LinkPort(LEAF, 1, "leaf1", 2, UP, HOST_PORT, 1, "node1 HCA-1")
AT_HOST = LinkPort(HOST_PORT, 1, "node1 HCA-1", 3, UP, LEAF, 1, "leaf1")


def joined(*ports: LinkPort) -> Subnet:
    return join(parse_topology(TEXT), LinkPorts(ports), {})


def link_of(*ports: LinkPort) -> Link:
    (link,) = joined(*ports).links
    return link


@pytest.mark.parametrize("ports", [(AT_LEAF, AT_HOST), (AT_LEAF,), (AT_HOST,)])
def test_a_link_that_has_what_its_ends_can_do(ports: tuple[LinkPort, ...]) -> None:
    assert link_of(*ports)[1:] == ("4X", "EDR", False)


@pytest.mark.parametrize("better", [("8X", ""), ("", "HDR"), ("8X", "HDR")])
def test_what_one_end_says_of_a_better_link_counts(better: tuple[str, str]) -> None:
    width, speed = better
    for ports in [(AT_LEAF, AT_HOST._replace(better=better)), (AT_LEAF._replace(better=better), AT_HOST)]:
        assert link_of(*ports)[1:] == (width or "4X", speed or "EDR", True)


def test_an_end_that_was_seen_without_its_peer_says_nothing_of_the_link() -> None:
    """The link went down between the two scans, so its ends were never compared."""
    down = LinkState("Down", "Polling")
    alone = [AT_LEAF._replace(link=down, peer_guid="", peer_port=0), AT_HOST._replace(link=down, peer_guid="", peer_port=0)]
    assert link_of(*alone)[1:] == ("", "", None)
    assert link_of(alone[0], AT_HOST._replace(better=("", "HDR")))[1:] == ("4X", "HDR", True)
    # Width and speed are then those of the other scan; the state is that of this one.
    near, far = link_of(*alone).ends
    assert {(end.state, end.phys_state, end.width, end.speed) for end in (near, far)} == {("Down", "Polling", "4X", "EDR")}


def test_without_the_other_tool_no_link_is_judged() -> None:
    assert link_of()[1:] == ("", "", None)


def test_ports_that_only_one_tool_has() -> None:
    spare = AT_LEAF._replace(port=7, link=LinkState("Down", "Polling"), peer_guid="", peer_port=0)
    stranger = AT_HOST._replace(port_guid="0x0000000000100009", description="node9 HCA-1")
    found = joined(AT_LEAF, AT_HOST, spare, stranger)
    assert [(port.node_guid, port.port, port.state, port.lid) for port in found.ports] == [(HOST, 1, "Active", 3), (LEAF, 1, "Active", 2), (LEAF, 7, "Down", 2)]
    assert [gap.examples for gap in found.gaps] == [("port 1 of 0x0000000000100009 (node9 HCA-1)",)]


@pytest.mark.parametrize(
    ("one", "other", "below"),
    [
        ("1X", "4X", True),
        ("4X", "12X", True),
        ("4X", "4X", False),
        ("12X", "4X", False),
        ("SDR", "DDR", True),
        ("FDR10", "FDR", True),
        ("HDR", "NDR", True),
        ("NDR", "HDR", False),
        ("NDR", "NDR", False),
        # Unknown values count as sufficient.
        ("YDR", "NDR", False),
        ("NDR", "YDR", False),
        ("", "4X", False),
        ("4X", "", False),
    ],
)
def test_widths_and_speeds_have_an_order(one: str, other: str, below: bool) -> None:
    assert is_below(one, other) is below
    if below:
        assert {lower(*pair) for pair in ((one, other), (other, one))} == {one}


def test_a_width_is_a_number_of_lanes() -> None:
    assert [lanes(text) for text in ("1X", "4X", "12X", "EDR", "")] == [1, 4, 12, None, None]


def test_what_a_link_has_comes_before_what_the_topology_says_of_it() -> None:
    """ibnetdiscover knows widths and speeds too, which are used if the link list has none."""
    slow = LinkState("Active", "LinkUp", "1X", "SDR")
    assert [(port.width, port.speed) for port in joined(AT_LEAF._replace(link=slow), AT_HOST._replace(link=slow)).ports] == [("1X", "SDR")] * 2
    assert [(port.width, port.speed) for port in joined().ports] == [("4X", "EDR")] * 2
