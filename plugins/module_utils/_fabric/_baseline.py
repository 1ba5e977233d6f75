# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The topology of a fabric in the form of a baseline, and the changes since. Pure, and linear in nodes and links."""

from __future__ import annotations

import collections
import json
import typing as t

from .._finding import Code, End, Finding, Topic
from .._foreign import read_table
from .._record import decode
from ._choice import reached
from ._subnet import Place, is_below, lower

_VERSION = 1
_SHOWN = 3


class Node(t.NamedTuple):
    """A node, named as in the data."""

    guid: str
    type: str
    name: str
    description: str
    port_count: int = 0
    system_guid: str = ""
    device_id: str = ""
    firmware: str = ""
    psid: str = ""


class Adapters(t.NamedTuple):
    """The adapters of an inventory host."""

    host: str
    node_guids: t.Tuple[str, ...]


class Cable(t.NamedTuple):
    """The two ports of a cable, in ascending order."""

    near: Place
    far: Place


class Pace(t.NamedTuple):
    """The width and speed of a link."""

    width: str
    speed: str

    def is_below(self, other: Pace) -> bool:
        return is_below(self.width, other.width) or is_below(self.speed, other.speed)


def pace_of(ends: t.Sequence[t.Mapping[str, t.Any]]) -> Pace:
    """The pace of a link, from the rows of both ends."""
    near, far = ends
    return Pace(lower(near["width"], far["width"]), lower(near["speed"], far["speed"]))


class Picture(t.NamedTuple):
    """The topology of a fabric."""

    nodes: t.Mapping[str, Node] = {}
    """By node GUID."""
    cables: t.Mapping[Cable, Pace] = {}
    hosts: t.Mapping[str, tuple[str, ...]] = {}
    """Node GUIDs by inventory host, for the hosts whose adapters were known when it was saved."""


def cable(one: Place, other: Place) -> Cable:
    return Cable(min(one, other), max(one, other))


def picture_of(data: t.Mapping[str, t.Any]) -> Picture:
    """The picture of a result of the module."""
    nodes = {row["guid"]: Node(**{name: row[name] for name in Node._fields}) for row in data["nodes"]}
    cables = {}
    for link in data["links"]:
        near, far = link["ends"]
        cables[cable((near["node_guid"], near["port"]), (far["node_guid"], far["port"]))] = pace_of(link["ends"])
    return Picture(nodes, cables)


def _lines(rows: t.Iterable[t.Any]) -> str:
    return "[\n%s\n]" % ",\n".join(map(json.dumps, rows))


def written(picture: Picture, time: str) -> str:
    """The content of the file, with one line per node and per link, so that text tools show the differences. `time` is for people."""
    nodes = (node._asdict() for _guid, node in sorted(picture.nodes.items()))
    links = ({"ends": [list(near), list(far)], **pace._asdict()} for (near, far), pace in sorted(picture.cables.items()))
    hosts = ({"host": host, "node_guids": list(guids)} for host, guids in sorted(picture.hosts.items()))
    parts = (_VERSION, json.dumps(time), _lines(nodes), _lines(links), _lines(hosts))
    return '{"version": %d, "time": %s, "nodes": %s, "links": %s, "hosts": %s}\n' % parts


def parse_baseline(text: str) -> Picture | None:
    """Parse the file; None for anything that `written` did not create."""
    table = read_table(text)
    if table.get("version") != _VERSION or not isinstance(table.get("nodes"), list) or not isinstance(table.get("links"), list):
        return None
    try:
        nodes = {row["guid"]: decode(Node, [row[name] for name in Node._fields]) for row in table["nodes"]}
        cables = {cable(*decode(Cable, row["ends"])): decode(Pace, [row[name] for name in Pace._fields]) for row in table["links"]}
        # Files of earlier versions have no hosts.
        hosts = dict(decode(Adapters, [row[name] for name in Adapters._fields]) for row in table.get("hosts") or ())
    except (KeyError, TypeError, ValueError):
        return None
    return Picture(nodes, cables, hosts) if "" not in nodes and all(guid in nodes for ends in cables for guid, _number in ends) else None


class Changes(t.NamedTuple):
    findings: tuple[Finding, ...] = ()
    lost: tuple[str, ...] = ()
    """Names of all lost nodes, including those that were reached through other lost nodes."""


def _neighbours(cables: t.Iterable[Cable]) -> dict[str, list[tuple[Place, Place]]]:
    """By node: its own port and the port at the other end."""
    found: dict[str, list[tuple[Place, Place]]] = collections.defaultdict(list)
    for near, far in cables:
        found[near[0]].append((near, far))
        found[far[0]].append((far, near))
    return found


def _replaced(before: Picture, now: Picture) -> dict[str, str]:
    """Replaced nodes, former GUID to present GUID: same kind and description, at the same port of another node."""
    at = {}
    for guid, pairs in _neighbours(now.cables).items():
        if guid not in before.nodes:
            at.update({peer: now.nodes[guid] for _own, peer in pairs})
    found: dict[str, str] = {}
    taken = set()
    for guid, pairs in _neighbours(before.cables).items():
        node = before.nodes[guid]
        for _own, peer in pairs if guid not in now.nodes else ():
            other = at.get(peer)
            if other and other.guid not in taken and (other.type, other.description) == (node.type, node.description):
                found[guid] = other.guid
                taken.add(other.guid)
                break
    return found


def _system(node: Node) -> str:
    return node.system_guid or node.guid


def _replacements(before: Picture, now: Picture, replaced: t.Mapping[str, str]) -> t.Iterator[Finding]:
    """One finding per card, for all of its nodes."""
    groups: dict[tuple[str, str], list[tuple[Node, Node]]] = {}
    for guid, other in sorted(replaced.items()):
        pair = before.nodes[guid], now.nodes[other]
        groups.setdefault((_system(pair[0]), _system(pair[1])), []).append(pair)
    for pairs in groups.values():
        ends = tuple(End(new.guid, new.name) for _old, new in pairs)
        yield Finding(Code.NODE_REPLACED, Topic.NODE, wanted=pairs[0][0].guid, found=pairs[0][1].guid, ends=ends)


def _parts(guids: t.Collection[str], pairs: t.Mapping[str, list[tuple[Place, Place]]]) -> t.Iterator[list[str]]:
    """Split the nodes into parts that cables connect."""
    neighbours = {guid: [peer for _own, (peer, _number) in pairs.get(guid, ()) if peer in guids] for guid in guids}
    seen: set[str] = set()
    for guid in sorted(guids):
        if guid not in seen:
            part = reached(neighbours, guid)
            seen.update(part)
            yield part


def _by_system(code: Code, guids: t.Collection[str], picture: Picture) -> t.Iterator[Finding]:
    """One finding per system that is next to the rest of the fabric. It counts the nodes behind that system."""
    pairs = _neighbours(picture.cables)
    for part in _parts(guids, pairs):
        heads = [guid for guid in part if any(peer not in guids for _own, (peer, _number) in pairs.get(guid, ()))]
        # An isolated part is represented by a switch, if it has one.
        heads = heads or [guid for guid in part if picture.nodes[guid].type == "switch"][:1] or part[:1]
        systems: dict[str, list[str]] = {}
        for guid in heads:
            systems.setdefault(_system(picture.nodes[guid]), []).append(guid)
        behind = len(part) - len(heads)
        for group in systems.values():
            first = picture.nodes[group[0]]
            stayed = [peer for guid in group for _own, peer in pairs.get(guid, ()) if peer[0] not in guids][:_SHOWN]
            ends = tuple(End(guid, picture.nodes[guid].name, number) for guid, number in stayed)
            yield Finding(code, Topic.NODE, detail=str(behind + len(group) - 1), ends=(End(first.guid, first.name), *ends))
            behind = 0


def _chains(old: t.Iterable[Cable], new: t.Iterable[Cable]) -> t.Iterator[tuple[list[Cable], list[Cable]]]:
    """Group former and new cables that share ports: a former cable, the one that has its port now, the former cable of that one's port, and so on.

    In a chain, former and new cables with the same index share a port.
    """
    sides = (sorted(old), sorted(new))
    at = [{place: one for one in side for place in one} for side in sides]
    seen: set[tuple[int, Cable]] = set()
    for first, cables in enumerate(sides):
        for start in cables:
            if (first, start) in seen:
                continue
            seen.add((first, start))
            chain = collections.deque([(first, start)])
            for place, add in ((start.near, chain.appendleft), (start.far, chain.append)):
                side = 1 - first
                other = at[side].get(place)
                while other is not None and (side, other) not in seen:
                    seen.add((side, other))
                    add((side, other))
                    place = other.far if other.near == place else other.near
                    side = 1 - side
                    other = at[side].get(place)
            yield [one for side, one in chain if side == 0], [one for side, one in chain if side == 1]


def _moves(old: list[Cable], new: list[Cable], ends: t.Callable[..., tuple[End, ...]]) -> t.Iterator[Finding]:
    is_ring = {place for one in old for place in one} == {place for one in new for place in one}
    if is_ring and len(old) == 2:
        yield Finding(Code.LINKS_SWAPPED, Topic.LINK, ends=ends(*sorted(old), *sorted(new)))
        return
    count = min(len(old), len(new))
    for pair in zip(old, new):
        yield Finding(Code.LINK_MOVED, Topic.LINK, ends=ends(*pair))
    for one in old[count:]:
        yield Finding(Code.LINK_LOST, Topic.LINK, ends=ends(one))
    for one in new[count:]:
        yield Finding(Code.LINK_NEW, Topic.LINK, ends=ends(one))


def compare(before: Picture, now: Picture) -> Changes:
    """The changes from the baseline `before` to `now`."""
    replaced = _replaced(before, now)
    gone = {guid for guid in before.nodes if guid not in now.nodes and guid not in replaced}
    came = set(now.nodes).difference(before.nodes, replaced.values())

    def moved(place: Place) -> Place:
        return replaced.get(place[0], place[0]), place[1]

    def ends(*cables: Cable) -> tuple[End, ...]:
        return tuple(End(guid, now.nodes[guid].name, number) for one in cables for guid, number in one)

    # Changes that a lost or new node explains are left out.
    old = {cable(moved(near), moved(far)): pace for (near, far), pace in before.cables.items() if not gone.intersection((near[0], far[0]))}
    new = {one: pace for one, pace in now.cables.items() if not came.intersection((one.near[0], one.far[0]))}
    findings = [*_by_system(Code.NODE_LOST, gone, before), *_by_system(Code.NODE_NEW, came, now), *_replacements(before, now, replaced)]
    for lost, added in _chains((one for one in old if one not in new), (one for one in new if one not in old)):
        findings += _moves(lost, added, ends)
    for one in sorted(old):
        if one in new and new[one].is_below(old[one]):
            findings.append(Finding(Code.LINK_SLOWER, Topic.LINK, wanted=" ".join(old[one]), found=" ".join(new[one]), ends=ends(one)))
    return Changes(tuple(findings), tuple(before.nodes[guid].name for guid in sorted(gone)))
