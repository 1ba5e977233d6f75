# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A discovered fabric as the simulator reads it. Pure, and linear in nodes and cables.

ibsim reads the output of ibnetdiscover and commands of its own, and stops at other lines or misreads them. The file is therefore rendered from what the parser
has read, and what is left out is named. ibsim gives each port of an adapter the GUID of the adapter plus the number of the port, whatever the file says: files
for subnet managers have the simulated GUIDs.
"""

from __future__ import annotations

import collections
import typing as t

from ...module_utils._errors import RdmaError
from ...module_utils._fabric._choice import names_of
from ...module_utils._foreign import hexadecimal
from ...module_utils._hosts import natural
from ...module_utils._tools._ibnetdiscover import End, Node, Topology, parse_topology

# The speeds that every ibsim knows. The others are simulated as the last of these.
_SPEEDS = ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR")
_WIDTHS = ("1X", "2X", "4X", "8X", "12X")
# The longest node description, in bytes.
_DESCRIPTION = 60
# What ibsim has room for without an option: nodes, switches, ports, LIDs.
_ROOM = (("-N", 2048), ("-S", 256), ("-P", 13312), ("-L", 0x7800))
# The most ports of a node in the simulator.
_MOST_PORTS = 254
# Where the GUID of an adapter would give a port the GUID of another one.
_SPARE = 0xFE00000000000000
_HINT = "It is the output of ibnetdiscover without options, as from: ibnetdiscover > FILE"


class Port(t.NamedTuple):
    """A port of an adapter with a link."""

    guid: str
    """The real port GUID."""
    simulated: str
    """Its port GUID in the simulation."""
    node_guid: str
    description: str
    number: int

    @property
    def place(self) -> str:
        """The name of its node in the simulation."""
        return "H-" + self.node_guid[2:]


class Netlist(t.NamedTuple):
    """A fabric for the simulator."""

    text: str
    limits: tuple[str, ...]
    """Options of ibsim for a large fabric."""
    ports: tuple[Port, ...]
    """The linked ports of adapters, in natural order of their descriptions."""
    switches: int
    adapters: int
    left_out: tuple[str, ...]
    """What the simulation does not have, in words."""

    def by_host(self) -> dict[str, list[Port]]:
        """The ports by each name that their node description matches."""
        found: dict[str, list[Port]] = {}
        for port in self.ports:
            for name in names_of(port.description):
                found.setdefault(name, []).append(port)
        return found


def _plain(description: str) -> str:
    """A node description without what ends a name in the file."""
    return "".join(sign if " " <= sign <= "~" and sign not in '"#@\\' else "_" for sign in description)[:_DESCRIPTION]


def _node_guids(nodes: t.Iterable[Node]) -> tuple[dict[str, int], int]:
    """The GUID of each node in the simulation, and how many could not have their own."""
    taken: set[int] = set()
    found: dict[str, int] = {}
    moved = 0
    for node in nodes:
        guid = hexadecimal(node.guid[2:], 0)
        own = range(guid, guid + 1) if node.kind == "switch" else range(guid + 1, guid + node.port_count + 1)
        if taken.intersection(own):
            guid = _SPARE + 256 * moved
            own = range(guid, guid + node.port_count + 1)
            moved += 1
        taken.update(own)
        found[node.guid] = guid
    return found, moved


def _name(node: Node) -> str:
    return "%s-%s" % ("S" if node.kind == "switch" else "H", node.guid[2:])


def _rate(end: End) -> str:
    width = end.width if end.width in _WIDTHS else "4X"
    return "%sx%s" % (width[:-1], end.speed if end.speed in _SPEEDS else _SPEEDS[-1])


class _Writer:
    def __init__(self, topology: Topology) -> None:
        self.nodes = {node.guid: node for node in topology.nodes if node.kind in ("switch", "ca") and 0 < node.port_count <= _MOST_PORTS}
        by_place = {(end.node_guid, end.port): end for end in topology.ends if self._fits(end.node_guid, end.port)}
        self.ends: dict[str, list[End]] = {guid: [] for guid in self.nodes}
        for place, end in sorted(by_place.items()):
            other = by_place.get((end.peer_guid, end.peer_port))
            if other is not None and other is not end and (other.peer_guid, other.peer_port) == place:
                self.ends[end.node_guid].append(end)
        self.half = len(topology.ends) - sum(map(len, self.ends.values()))
        self.guids, self.moved = _node_guids(self.nodes.values())

    def _fits(self, guid: str, port: int) -> bool:
        return guid in self.nodes and 0 < port <= self.nodes[guid].port_count

    def _line(self, node: Node, end: End) -> str:
        peer = self.nodes[end.peer_guid]
        lids = "" if node.kind == "switch" else "lid %d lmc %d " % (end.lid, end.lmc)
        own = "" if node.kind == "switch" else "(%x)" % (self.guids[node.guid] + end.port)
        there = "%s\t%s[%d]" % (own, '"%s"' % _name(peer), end.peer_port)
        return '[%d]%s\t\t# %s"%s" lid 0 %s\n' % (end.port, there, lids, _plain(peer.description), _rate(end))

    def record(self, node: Node) -> str:
        guid = self.guids[node.guid]
        kind, key = ("Switch", "switchguid") if node.kind == "switch" else ("Ca", "caguid")
        ids = [("vendid", node.vendor_id), ("devid", node.device_id), ("sysimgguid", node.system_guid)]
        head = "".join("%s=%s\n" % pair for pair in ids if pair[1]) + "%s=0x%x\n" % (key, guid)
        behind = " base port 0 lid %d lmc %d" % (node.lid, node.lmc) if kind == "Switch" else ""
        name = '%s\t%d "%s"\t\t# "%s"%s\n' % (kind, node.port_count, _name(node), _plain(node.description), behind)
        return head + name + "".join(self._line(node, end) for end in self.ends[node.guid])

    def ports(self) -> tuple[Port, ...]:
        adapters = [node for node in self.nodes.values() if node.kind == "ca"]
        found = [
            Port(end.port_guid, "0x%016x" % (self.guids[node.guid] + end.port), node.guid, node.description, end.port)
            for node in adapters
            for end in self.ends[node.guid]
        ]
        return tuple(sorted(found, key=lambda port: (natural(port.description), port.node_guid, port.number)))


def _limits(nodes: t.Collection[Node], ends: t.Iterable[End]) -> tuple[str, ...]:
    switches = [node for node in nodes if node.kind == "switch"]
    highest = max([end.lid + 2**end.lmc for end in ends] + [node.lid for node in switches] + [0])
    needed = (len(nodes), len(switches), sum(node.port_count + 1 for node in nodes), max(highest, 2 * len(nodes)) + 1)
    return tuple(word for (option, room), count in zip(_ROOM, needed) if count > room for word in (option, str(min(count, 0xBFFF))))


def netlist(text: str, source: str) -> Netlist:
    """The fabric in the output of ibnetdiscover. Raises RdmaError. `source`: the name of the file, for messages."""
    topology = parse_topology(text)
    if not topology.nodes:
        raise RdmaError("%s has no node in the form of ibnetdiscover; it begins with %r. %s" % (source, text[:60], _HINT))
    if len({node.guid for node in topology.nodes}) != len(topology.nodes):
        raise RdmaError("%s has a node twice: is it several outputs in one file? %s" % (source, _HINT))
    writer = _Writer(topology)
    ports = writer.ports()
    if not ports:
        raise RdmaError("%s has no adapter with a cable that both of its ends report. %s" % (source, _HINT))
    speeds = collections.Counter(end.speed or "?" for end in topology.ends if end.speed not in _SPEEDS)
    left = [
        ("%d lines that ibnetdiscover does not print, such as %r", (len(topology.unread), (topology.unread or ("",))[0][:60])),
        ("%d nodes that the simulator can't have, such as routers", (len(topology.nodes) - len(writer.nodes),)),
        ("%d ends of cables whose other end is not in the file", (writer.half,)),
        ("the GUIDs of %d adapters, which would give two ports one GUID there", (writer.moved,)),
        *(("%d ends of cables with the speed %s, which have HDR there", (count, speed)) for speed, count in sorted(speeds.items(), reverse=True)),
    ]
    kinds = collections.Counter(node.kind for node in writer.nodes.values())
    return Netlist(
        text="\n".join(map(writer.record, writer.nodes.values())),
        limits=_limits(list(writer.nodes.values()), topology.ends),
        ports=ports,
        switches=kinds["switch"],
        adapters=kinds["ca"],
        left_out=tuple(form % values for form, values in left if values[0]),
    )
