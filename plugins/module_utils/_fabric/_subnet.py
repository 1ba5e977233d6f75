# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""A subnet as data: nodes, ports and links from what ibnetdiscover and iblinkinfo list. Pure, and linear in the number of ports."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._fabric._gap import Code, Gap, gap

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._iblinkinfo import LinkPorts
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._ibnetdiscover import Node, Topology


Place = t.Tuple[str, int]
"""Node GUID and number of a port."""

_NOT_LISTED = ("", "", "", "")
_NOT_BETTER = ("", "")


class Port(t.NamedTuple):
    """One port of a node. What no tool listed is ""."""

    node_guid: str
    name: str
    """Of the node."""
    port: int
    port_guid: str
    lid: int
    lmc: int
    state: str
    phys_state: str
    width: str
    speed: str
    peer_node_guid: str = ""
    peer_port: int = 0

    @property
    def place(self) -> Place:
        return self.node_guid, self.port


class Link(t.NamedTuple):
    """Two ports, and what both of them can do."""

    ends: tuple[Port, Port]
    max_width: str
    """"" where iblinkinfo did not list the link."""
    max_speed: str
    degraded: bool | None
    """Whether the link is below what both of its ends can do; None where that is not known."""


class Subnet(t.NamedTuple):
    nodes: tuple[Node, ...] = ()
    ports: tuple[Port, ...] = ()
    links: tuple[Link, ...] = ()
    names: t.Mapping[str, str] = {}
    """Of the nodes, by node GUID: that of the map, else the node description."""
    gaps: tuple[Gap, ...] = ()


def join(topology: Topology, listed: LinkPorts, names: t.Mapping[str, str]) -> Subnet:
    """`names`: of the map, by node GUID."""
    nodes = {node.guid: node for node in topology.nodes}
    named = {guid: names.get(guid) or node.description for guid, node in nodes.items()}
    states = {(port.port_guid, port.port): port for port in listed.ports}
    owners = {node.port_guid: node for node in nodes.values() if node.port_guid}
    ports: dict[Place, Port] = {}
    betters: dict[Place, tuple[str, str]] = {}
    joined: set[Place] = set()
    for guid, number, port_guid, lid, lmc, peer_guid, peer_port, width, speed in topology.ends:
        place = (port_guid, number)
        joined.add(place)
        seen = states.get(place)
        if seen and seen.peer_guid:
            betters[guid, number] = seen.better
        state, phys_state, active_width, active_speed = seen.link if seen else _NOT_LISTED
        ports[guid, number] = Port(
            guid,
            named[guid],
            number,
            port_guid,
            lid,
            lmc,
            state,
            phys_state,
            active_width or width,
            active_speed or speed,
            peer_guid,
            peer_port,
        )
    strangers = []
    for (guid, number), seen in states.items():
        if (guid, number) in joined:
            continue
        owner = owners.get(guid)
        if owner is None:
            strangers.append("port %d of %s (%s)" % (number, guid, seen.description))
        else:
            ports[owner.guid, number] = Port(owner.guid, named[owner.guid], number, guid, owner.lid, owner.lmc, *seen.link)
    ordered = sorted(ports.values())
    gaps = (gap(Code.NOT_IN_TOPOLOGY, "iblinkinfo", strangers),) if strangers else ()
    return Subnet(tuple(nodes[guid] for guid in sorted(nodes)), tuple(ordered), tuple(_links(ordered, ports, betters)), named, gaps)


def _links(ordered: t.Iterable[Port], ports: t.Mapping[Place, Port], betters: t.Mapping[Place, tuple[str, str]]) -> t.Iterator[Link]:
    """Each link once. An end that no record of its node lists has no link."""
    for near in ordered:
        here, there = (near.node_guid, near.port), (near.peer_node_guid, near.peer_port)
        far = ports.get(there) if there >= here else None
        if far is None:
            continue
        known = [betters[place] for place in (here, there) if place in betters]
        width, speed = next(filter(any, known), _NOT_BETTER)
        if known:
            yield Link((near, far), width or near.width, speed or near.speed, bool(width or speed))
        else:
            yield Link((near, far), "", "", None)
