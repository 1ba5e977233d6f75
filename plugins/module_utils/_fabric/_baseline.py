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
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode

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


def parse_baseline(text: str) -> Picture | None:
    """None for anything that `written` did not make."""
    table = read_table(text)
    if table.get("version") != _VERSION or not isinstance(table.get("nodes"), list) or not isinstance(table.get("links"), list):
        return None
    try:
        nodes = {row["guid"]: decode(Node, [row[name] for name in Node._fields]) for row in table["nodes"]}
        cables = {cable(*decode(Cable, row["ends"])): decode(Pace, [row[name] for name in Pace._fields]) for row in table["links"]}
    except (KeyError, TypeError, ValueError):
        return None
    return Picture(nodes, cables) if "" not in nodes and all(guid in nodes for ends in cables for guid, _number in ends) else None
