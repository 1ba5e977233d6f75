# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The ports of a fabric that have counters, and which of them are meant. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters import Place

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._subnet import Subnet


class Spot(t.NamedTuple):
    """A port, and the other end of its link; "" and 0 without one."""

    node_guid: str
    name: str
    """Of the node."""
    port: int
    port_guid: str
    lid: int
    peer_node_guid: str = ""
    peer_name: str = ""
    peer_port: int = 0

    @property
    def place(self) -> Place:
        return self.port_guid, self.port


def spots_of(subnet: Subnet) -> dict[Place, Spot]:
    """All ports of switches, among them port 0, and those of other nodes that have a link."""
    found: dict[Place, Spot] = {}
    for node in subnet.nodes:
        for number in range(node.port_count + 1) if node.port_guid else ():
            found[node.port_guid, number] = Spot(node.guid, subnet.names[node.guid], number, node.port_guid, node.lid)
    for port in subnet.ports:
        peer = subnet.names.get(port.peer_node_guid, "")
        spot = Spot(port.node_guid, port.name, port.port, port.port_guid, port.lid, port.peer_node_guid, peer, port.peer_port)
        found[spot.place] = spot
    return found


def named(spots: t.Mapping[Place, Spot], nodes: t.Collection[str], numbers: t.Collection[int]) -> list[Spot]:
    """The ports of these nodes, all of them without numbers. Port 0 is none that a cable can be in."""
    return [spot for spot in spots.values() if spot.node_guid in nodes and spot.port and (not numbers or spot.port in numbers)]
