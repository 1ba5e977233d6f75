# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Select nodes and ports of a fabric, and the port on which a link is controlled. Pure."""

from __future__ import annotations

import collections
import typing as t

from .._codes import guid_problems, normal_guid
from .._errors import InvalidInput, Problem, RdmaError, require_none
from ._gap import Code, Gap, gaps_of
from ._words import place_in_words

if t.TYPE_CHECKING:
    from .._tools._ibnetdiscover import Node
    from ._subnet import Port, Subnet

# The highest unicast LID of the InfiniBand specification.
_LAST_LID = 0xBFFF
_LIDS = "a unicast LID, 1 to 49151"


class Filter(t.NamedTuple):
    """The properties that select nodes; if all are empty, all nodes are selected."""

    hosts: tuple[str, ...] = ()
    guids: tuple[str, ...] = ()
    lids: tuple[int, ...] = ()


def filter_of(options: t.Mapping[str, t.Any]) -> Filter:
    """The filter in the options of the module. Raises InvalidInput."""
    wrong = [problem for index, guid in enumerate(options["guids"]) for problem in guid_problems("guids[%d]" % index, guid, "a node, port or system GUID")]
    wrong += [Problem("lids[%d]" % index, lid, _LIDS) for index, lid in enumerate(options["lids"]) if not 0 < lid <= _LAST_LID]
    wrong += [Problem("hosts[%d]" % index, host, "the name of a host or a node") for index, host in enumerate(options["hosts"]) if not host.strip()]
    require_none(wrong)
    return Filter(tuple(options["hosts"]), tuple(map(normal_guid, options["guids"])), tuple(options["lids"]))


def names_of(text: str) -> set[str]:
    """The names that match a node name or description: the whole text, its first word, and that without a domain."""
    whole = text.strip().lower()
    first = whole.partition(" ")[0]
    return {whole, first, first.partition(".")[0]} - {""}


def _node_names(subnet: Subnet, node: Node) -> set[str]:
    return {*names_of(node.description), *names_of(subnet.names[node.guid])}


def chosen(subnet: Subnet, wanted: Filter) -> tuple[frozenset[str] | None, tuple[Gap, ...]]:
    """GUIDs of the selected nodes, None for all, and gaps for names that no node has."""
    if not any(wanted):
        return None, ()
    found: dict[t.Any, set[str]] = collections.defaultdict(set)
    for node in subnet.nodes:
        for key in (*_node_names(subnet, node), node.guid, node.port_guid, node.system_guid, node.lid):
            found[key].add(node.guid)
    for port in subnet.ports:
        # With an LMC, a port has all LIDs that differ in their lowest bits.
        lids = range(port.lid, port.lid + (1 << port.lmc)) if port.lid else ()
        for key in (port.port_guid, *lids):
            found[key].add(port.node_guid)
    keys = [*(host.strip().lower() for host in wanted.hosts), *wanted.guids, *wanted.lids]
    absent = [str(key) for key in keys if key not in found]
    gaps = gaps_of(Code.NO_SUCH_NODE, "", absent)
    return frozenset(guid for key in keys for guid in found.get(key, ())), gaps


# The most candidates that a message names.
_SHOWN = 10
SWITCH = "switch"


class Address(t.NamedTuple):
    """The properties that identify a port."""

    node: str = ""
    """Name of a host or switch."""
    guid: str = ""
    """Node or port GUID."""
    number: int = 0
    """Port number; 0 if the node has only one port with a link."""


def _node_guids(subnet: Subnet, address: Address) -> list[str]:
    wanted = address.node.strip().lower()
    if address.guid:
        return sorted({node.guid for node in subnet.nodes if address.guid in (node.guid, node.port_guid)})
    return [node.guid for node in subnet.nodes if wanted in _node_names(subnet, node)]


def find(subnet: Subnet, address: Address) -> Port:
    """The port. Raises InvalidInput where no port or several ports match."""
    by_port = [port for port in subnet.ports if address.guid and port.port_guid == address.guid]
    guids = set(_node_guids(subnet, address))
    named = by_port or [port for port in subnet.ports if port.node_guid in guids]
    switches = {node.guid for node in subnet.nodes if node.kind == SWITCH}
    variable, value = ("guid", address.guid) if address.guid else ("node", address.node)
    if not named:
        hint = "a host whose port is off has left the fabric: name the port of the switch that its cable is plugged into"
        raise InvalidInput([Problem(variable, value, "the %s of a node of this fabric" % ("GUID" if address.guid else "name or node description"), hint)])
    there = [port for port in named if port.port == address.number] if address.number else [port for port in named if port.peer_node_guid]
    if not address.number and any(port.node_guid in switches for port in named):
        there = []
    if len(there) == 1:
        return there[0]
    shown = there or named
    spots = ", ".join("%s (%s)" % (place_in_words(port), port.node_guid) for port in shown[:_SHOWN]) + (", ..." if len(shown) > _SHOWN else "")
    if len({port.node_guid for port in named}) > 1:
        raise InvalidInput([Problem(variable, value, "what names one port; found: %s" % spots, "name the node by guid")])
    raise InvalidInput([Problem("number", address.number or None, "the number of one of its ports: %s" % spots)])


def control_point(subnet: Subnet, port: Port) -> Port:
    """The switch port that controls the link: for a host, the port at the other end, which is reachable while the link is off. Raises RdmaError."""
    switches = {node.guid for node in subnet.nodes if node.kind == SWITCH}
    if port.node_guid in switches:
        return port
    peer = next((other for other in subnet.ports if (other.node_guid, other.port) == (port.peer_node_guid, port.peer_port)), None)
    if peer is None or peer.node_guid not in switches:
        raise RdmaError(
            "%s can't be controlled over the fabric: no switch is at the other end of its cable, and a port that is off can't be reached to switch it on. "
            "Next: use the driver on the host itself" % place_in_words(port)
        )
    return peer


def cut_off(subnet: Subnet, link: Port, needed: t.Collection[str]) -> list[str]:
    """Those of the `needed` nodes, by node GUID, that the larger part of the fabric could not reach without the link of a port.

    A redundant link cuts nothing off. Of two equal halves, neither is the larger part.
    """
    gone = {(link.node_guid, link.port), (link.peer_node_guid, link.peer_port)}
    neighbours: dict[str, list[str]] = {node.guid: [] for node in subnet.nodes}
    for port in subnet.ports:
        if port.peer_node_guid in neighbours and port.node_guid in neighbours and (port.node_guid, port.port) not in gone:
            neighbours[port.node_guid].append(port.peer_node_guid)
    side = set(reached(neighbours, link.node_guid))
    if not link.peer_node_guid or link.peer_node_guid in side:
        return []
    other = set(reached(neighbours, link.peer_node_guid))
    lost = side if len(side) < len(other) else other if len(other) < len(side) else side | other
    return sorted(guid for guid in needed if guid in lost)


def reached(neighbours: t.Mapping[str, t.Iterable[str]], start: str) -> list[str]:
    """The node, and all nodes that can be reached from it, nearest first."""
    found, seen = [start], {start}
    for guid in found:
        new = [other for other in dict.fromkeys(neighbours.get(guid, ())) if other not in seen]
        seen.update(new)
        found += new
    return found
