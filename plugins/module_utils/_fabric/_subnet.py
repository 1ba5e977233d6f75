# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""A subnet as data: nodes, ports and links from what ibnetdiscover and iblinkinfo list. Pure, and linear in the number of ports."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._fabric._gap import Code, Gap, gap

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._iblinkinfo import LinkPort, LinkPorts
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._ibnetdiscover import Node, Topology


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
    def place(self) -> tuple[str, int]:
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
    ports: dict[tuple[str, int], Port] = {}
    joined = set()
    for end in topology.ends:
        place = (end.port_guid, end.port)
        seen = states.get(place)
        joined.add(place)
        state, phys_state, width, speed = seen.link if seen else ("", "", end.width, end.speed)
        ports[end.node_guid, end.port] = Port(
            end.node_guid,
            named[end.node_guid],
            end.port,
            end.port_guid,
            end.lid,
            end.lmc,
            state,
            phys_state,
            width or end.width,
            speed or end.speed,
            end.peer_guid,
            end.peer_port,
        )
    strangers = []
    for (guid, number), seen in states.items():
        owner = owners.get(guid)
        if (guid, number) in joined:
            continue
        if owner is None:
            strangers.append("port %d of %s (%s)" % (number, guid, seen.description))
        else:
            ports[owner.guid, number] = Port(owner.guid, named[owner.guid], number, guid, owner.lid, owner.lmc, *seen.link)
    ordered = [ports[place] for place in sorted(ports)]
    links = tuple(_links(ordered, ports, states))
    gaps = (gap(Code.NOT_IN_TOPOLOGY, "iblinkinfo", strangers),) if strangers else ()
    return Subnet(tuple(nodes[guid] for guid in sorted(nodes)), tuple(ordered), links, named, gaps)


def _links(ordered: t.Iterable[Port], ports: t.Mapping[tuple[str, int], Port], listed: t.Mapping[tuple[str, int], LinkPort]) -> t.Iterator[Link]:
    """Each link once. An end that no record of its node lists has no link."""
    for near in ordered:
        far = ports.get((near.peer_node_guid, near.peer_port))
        if far is None or far.place < near.place:
            continue
        known = [seen for seen in (listed.get((end.port_guid, end.port)) for end in (near, far)) if seen and seen.peer_guid]
        better = next((seen.better for seen in known if any(seen.better)), ("", ""))
        width, speed = (better[0] or near.width, better[1] or near.speed) if known else ("", "")
        yield Link((near, far), width, speed, any(better) if known else None)
