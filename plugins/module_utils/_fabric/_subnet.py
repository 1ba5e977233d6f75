# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A subnet as data: nodes, ports, links, partitions and multicast groups from the output of the diagnostics. Pure, and linear in the number of ports."""

from __future__ import annotations

import re
import typing as t

from .._codes import MTUS, RATES
from .._foreign import decimal
from .._tools._smpquery import SPEEDS
from ._gap import Code, Gap, gaps_of

if t.TYPE_CHECKING:
    from .._tools._iblinkinfo import LinkPorts
    from .._tools._ibnetdiscover import Node, Topology
    from .._tools._saquery import McMember, PkeyBlock


Place = t.Tuple[str, int]
"""Node GUID and port number."""

_NOT_LISTED = ("", "", "", "")
_NOT_BETTER = ("", "")

_BYTES = {code: size for size, code in MTUS.items()}
_GBPS = {code: rate for rate, code in RATES.items()}
_FULL = 0x8000


WIDTHS = ("1X", "2X", "4X", "8X", "12X")
_WIDTH = re.compile(r"([0-9]{1,3})X\Z")


class Port(t.NamedTuple):
    """One port of a node. What no tool listed is ""."""

    node_guid: str
    name: str
    """The name of the node."""
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
    """Two ports, and what both of them support."""

    ends: tuple[Port, Port]
    max_width: str
    """The width that both ends support; "" where iblinkinfo did not list the link."""
    max_speed: str
    degraded: bool | None
    """Whether the link is below what both of its ends support; None where that is unknown."""


class Subnet(t.NamedTuple):
    nodes: tuple[Node, ...] = ()
    ports: tuple[Port, ...] = ()
    links: tuple[Link, ...] = ()
    names: t.Mapping[str, str] = {}
    """Names of the nodes, by node GUID: from the map, else the node description."""
    gaps: tuple[Gap, ...] = ()


def join(topology: Topology, listed: LinkPorts, names: t.Mapping[str, str]) -> Subnet:
    """Combine the outputs. `names`: from the map, by node GUID."""
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
        link = (state, phys_state, active_width or width, active_speed or speed)
        ports[guid, number] = Port(guid, named[guid], number, port_guid, lid, lmc, *link, peer_guid, peer_port)
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
    gaps = gaps_of(Code.NOT_IN_TOPOLOGY, "iblinkinfo", strangers)
    return Subnet(tuple(nodes[guid] for guid in sorted(nodes)), tuple(ordered), tuple(_links(ordered, ports, betters)), named, gaps)


def _links(ordered: t.Iterable[Port], ports: t.Mapping[Place, Port], betters: t.Mapping[Place, tuple[str, str]]) -> t.Iterator[Link]:
    """Each link once. An end that its node's records do not list has no link."""
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


class Partition(t.NamedTuple):
    """A partition and its end ports, by port GUID. A port with both memberships is in both lists."""

    pkey: str
    """Without the membership bit: `0x7fff`."""
    full: tuple[str, ...]
    limited: tuple[str, ...]


class Member(t.NamedTuple):
    """A port in a multicast group."""

    port_guid: str
    name: str
    """The name of the node; "" for a port that is not in the topology, such as that of a virtual function."""
    membership: str


class Group(t.NamedTuple):
    """A multicast group."""

    mgid: str
    mlid: str
    pkey: str
    mtu: int
    rate_gbps: float
    qkey: str
    sl: int
    members: tuple[Member, ...]


def end_ports(subnet: Subnet) -> dict[tuple[int, int], str]:
    """Port GUIDs by LID and port number. Of a switch, only port 0 is an end port."""
    switches = {node.guid: node for node in subnet.nodes if node.port_guid}
    found = {(port.lid, port.port): port.port_guid for port in subnet.ports if port.node_guid not in switches}
    return {**found, **{(node.lid, 0): node.port_guid for node in switches.values()}}


def partitions(blocks: t.Iterable[PkeyBlock], ends: t.Mapping[tuple[int, int], str]) -> tuple[Partition, ...]:
    """Partitions by P_Key. Tables of external switch ports, which only enforce partitions, contain no members."""
    members: dict[int, tuple[set[str], set[str]]] = {}
    for block in blocks:
        guid = ends.get((block.lid, block.port))
        for pkey in block.pkeys if guid else ():
            members.setdefault(pkey & ~_FULL, (set(), set()))[0 if pkey & _FULL else 1].add(guid or "")
    return tuple(Partition("0x%04x" % pkey, *(tuple(sorted(part)) for part in members[pkey])) for pkey in sorted(members))


def groups(records: t.Iterable[McMember], names: t.Mapping[str, str]) -> tuple[Group, ...]:
    """Groups by MLID and MGID. `names`: of nodes, by port GUID. A group without members has a record of its own."""
    heads: dict[tuple[str, str], McMember] = {}
    members: dict[tuple[str, str], dict[str, Member]] = {}
    for record in records:
        key = (record.mlid, record.mgid)
        heads.setdefault(key, record)
        if record.port_guid:
            member = Member(record.port_guid, names.get(record.port_guid, ""), record.membership)
            members.setdefault(key, {})[record.port_guid] = member
    found = []
    for key, head in sorted(heads.items()):
        mtu, rate = _BYTES.get(head.mtu_code, 0), _GBPS.get(head.rate_code, 0)
        own = tuple(sorted(members.get(key, {}).values()))
        found.append(Group(head.mgid, head.mlid, head.pkey, mtu, rate, head.qkey, head.sl, own))
    return tuple(found)


def lanes(width: str) -> int | None:
    """`4X` -> 4; None for anything but a width."""
    match = _WIDTH.match(width)
    return decimal(match[1]) if match else None


def _rank(text: str) -> int | None:
    width = lanes(text)
    if width is not None:
        return width
    return SPEEDS.index(text) if text in SPEEDS else None


def is_below(found: str, expected: str) -> bool:
    """Whether a width or a speed is below another. Unknown values count as sufficient."""
    one, other = _rank(found), _rank(expected)
    return one is not None and other is not None and one < other


def lower(one: str, other: str) -> str:
    """The lower of two widths or speeds. The ends of a link may differ: a lane can fail in one direction only."""
    return other if is_below(other, one) else one
