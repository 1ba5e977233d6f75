# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two switches with two cables between them: node1 and node2 are on leaf1, node3 and node4 on leaf2, and node5 has two adapters."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._choice import SWITCH, Address, control_point, cut_off, find
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._subnet import Port, Subnet
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._words import place_in_words
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ibnetdiscover import Node

CABLES = [
    ("leaf1", 1, "node1 mlx5_0", 1),
    ("leaf1", 2, "node2 mlx5_0", 1),
    ("leaf1", 5, "leaf2", 5),
    ("leaf1", 6, "leaf2", 6),
    ("leaf2", 1, "node3 mlx5_0", 1),
    ("leaf2", 2, "node4 mlx5_0", 1),
    ("leaf1", 3, "node5 mlx5_0", 1),
    ("leaf2", 3, "node5 mlx5_1", 1),
    ("node3 mlx5_0", 2, "node4 mlx5_0", 2),
]
NAMES = sorted({name for one, _here, other, _there in CABLES for name in (one, other)})


def guid(name: str) -> str:
    return "0x%016x" % (NAMES.index(name) + 1)


def node(name: str) -> Node:
    kind = SWITCH if name.startswith("leaf") else "ca"
    values: dict[str, t.Any] = dict.fromkeys(Node._fields, "")
    return Node(**{**values, "guid": guid(name), "kind": kind, "description": name, "lid": 1, "lmc": 0, "port_guid": guid(name) if kind == SWITCH else ""})


def port(name: str, number: int, peer: str = "", there: int = 0) -> Port:
    own = guid(name) if name.startswith("leaf") else guid(name) + str(number)
    return Port(guid(name), name, number, own, 1, 0, "Active", "LinkUp", "4X", "EDR", guid(peer) if peer else "", there)


PORTS = [port(*cable) for one, here, other, there in CABLES for cable in ((one, here, other, there), (other, there, one, here))]
SUBNET = Subnet(tuple(map(node, NAMES)), (*PORTS, port("leaf1", 9)), (), {guid(name): name for name in NAMES})


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (Address("node1"), "node1 mlx5_0 port 1"),
        (Address("NODE1"), "node1 mlx5_0 port 1"),
        (Address("node5 mlx5_1"), "node5 mlx5_1 port 1"),
        (Address("node3", number=2), "node3 mlx5_0 port 2"),
        (Address("leaf1", number=9), "leaf1 port 9"),
        (Address(guid=guid("leaf2"), number=5), "leaf2 port 5"),
        (Address(guid=guid("node3 mlx5_0") + "2"), "node3 mlx5_0 port 2"),
    ],
)
def test_a_port_by_its_names(target: Address, wanted: str) -> None:
    assert place_in_words(find(SUBNET, target)) == wanted


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Address("node9"), ["node is 'node9'", "left the fabric"]),
        (Address(guid="0x9"), ["guid is '0x9'"]),
        (Address("leaf1"), ["number is not set", "leaf1 port 5"]),
        (Address("node3"), ["number is not set", "node3 mlx5_0 port 2"]),
        (Address("node1", number=2), ["number is 2", "node1 mlx5_0 port 1"]),
        (Address("node5"), ["node is 'node5'", "node5 mlx5_0 port 1", "node5 mlx5_1 port 1", "by guid"]),
    ],
)
def test_a_name_that_is_none_or_of_many(target: Address, words: t.Sequence[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        find(SUBNET, target)
    assert all(word in caught.value.msg for word in words), caught.value.msg


def test_a_host_is_controlled_at_its_switch() -> None:
    assert place_in_words(control_point(SUBNET, find(SUBNET, Address("node4", number=1)))) == "leaf2 port 2"
    assert place_in_words(control_point(SUBNET, find(SUBNET, Address("leaf1", number=9)))) == "leaf1 port 9"
    with pytest.raises(RdmaError, match="no switch is at the other end"):
        control_point(SUBNET, find(SUBNET, Address("node3", number=2)))


@pytest.mark.parametrize(
    ("place", "needed", "lost"),
    [
        (("leaf1", 1), ["node1 mlx5_0"], ["node1 mlx5_0"]),
        (("leaf1", 1), ["node2 mlx5_0"], []),
        # One of two cables.
        (("leaf1", 5), ["node1 mlx5_0", "node3 mlx5_0"], []),
        # The other host provides a path.
        (("leaf2", 1), ["node3 mlx5_0"], []),
        # No link.
        (("leaf1", 9), ["node1 mlx5_0"], []),
    ],
)
def test_who_is_cut_off(place: tuple[str, int], needed: t.Sequence[str], lost: t.Sequence[str]) -> None:
    link = next(each for each in SUBNET.ports if (each.name, each.port) == place)
    assert cut_off(SUBNET, link, [guid(name) for name in needed]) == [guid(name) for name in lost]


def test_of_two_halves_neither_is_the_fabric() -> None:
    pair = Subnet((node("leaf1"), node("leaf2")), (port("leaf1", 5, "leaf2", 5), port("leaf2", 5, "leaf1", 5)), (), SUBNET.names)
    both = [guid("leaf1"), guid("leaf2")]
    assert cut_off(pair, pair.ports[0], both) == both
