# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The topology of a fabric as a baseline keeps it, from the data of `ib_fabric_info` or from the file. Pure."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._fabric._subnet import Place, is_below, lower
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import read_table

_VERSION = 1


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


class Cable(t.NamedTuple):
    """The two ports, the lesser first."""

    near: Place
    far: Place


class Pace(t.NamedTuple):
    """How fast a link is."""

    width: str
    speed: str

    def is_below(self, other: Pace) -> bool:
        return is_below(self.width, other.width) or is_below(self.speed, other.speed)


def pace_of(ends: t.Sequence[t.Mapping[str, t.Any]]) -> Pace:
    """Of a link, where both of its ends are as they are."""
    near, far = ends
    return Pace(lower(near["width"], far["width"]), lower(near["speed"], far["speed"]))


class Picture(t.NamedTuple):
    """A topology."""

    nodes: t.Mapping[str, Node] = {}
    """By node GUID."""
    cables: t.Mapping[Cable, Pace] = {}


def cable(one: Place, other: Place) -> Cable:
    return Cable(min(one, other), max(one, other))


def picture_of(data: t.Mapping[str, t.Any]) -> Picture:
    """Of the result of the module."""
    nodes = {row["guid"]: Node(**{name: row[name] for name in Node._fields}) for row in data["nodes"]}
    cables = {}
    for link in data["links"]:
        near, far = link["ends"]
        cables[cable((near["node_guid"], near["port"]), (far["node_guid"], far["port"]))] = pace_of(link["ends"])
    return Picture(nodes, cables)


def _lines(rows: t.Iterable[t.Any]) -> str:
    return "[\n%s\n]" % ",\n".join(map(json.dumps, rows))


def written(picture: Picture, time: str) -> str:
    """The file, with a line for each node and each link, so that tools for texts show what differs. `time` is for people."""
    nodes = (node._asdict() for _guid, node in sorted(picture.nodes.items()))
    links = ({"ends": [list(near), list(far)], **pace._asdict()} for (near, far), pace in sorted(picture.cables.items()))
    return '{"version": %d, "time": %s, "nodes": %s, "links": %s}\n' % (_VERSION, json.dumps(time), _lines(nodes), _lines(links))


def _node(row: t.Any) -> Node | None:
    if not isinstance(row, dict) or not isinstance(row.get("port_count"), int) or set(Node._fields) - set(row):
        return None
    node = Node(**{name: row[name] for name in Node._fields})
    return node if all(isinstance(value, str) for value in node._replace(port_count="")) and node.guid else None  # type: ignore[arg-type]


def _place(value: t.Any) -> Place | None:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int):
        return value[0], value[1]
    return None


def _cable(row: t.Any) -> tuple[Cable, Pace] | None:
    if not isinstance(row, dict) or not isinstance(row.get("ends"), list) or not all(isinstance(row.get(name), str) for name in Pace._fields):
        return None
    ends = [place for place in map(_place, row["ends"]) if place]
    return (cable(*ends), Pace(row["width"], row["speed"])) if len(ends) == 2 else None


def parse_baseline(text: str) -> Picture | None:
    """None for anything that `written` did not make."""
    table = read_table(text)
    rows, links = table.get("nodes"), table.get("links")
    if table.get("version") != _VERSION or not isinstance(rows, list) or not isinstance(links, list):
        return None
    nodes, cables = [_node(row) for row in rows], [_cable(row) for row in links]
    if None in nodes or None in cables:
        return None
    picture = Picture({node.guid: node for node in nodes if node}, dict(pair for pair in cables if pair))
    return picture if all(guid in picture.nodes for ends in picture.cables for guid, _number in ends) else None
