# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`ibnetdiscover`: the nodes of a subnet and the cables between them. Grammar from infiniband-diags, `ibnetdiscover.c`. Works without a subnet manager."""

from __future__ import annotations

import re
import typing as t

from .._foreign import Once, decimal

_KINDS = {"Switch": "switch", "Ca": "ca", "Rt": "router"}
_ID = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=0x([0-9a-f]{1,16})(?:\(([0-9a-f]{1,16})\))?")
_NODE = re.compile(r'(Switch|Ca|Rt)\t([0-9]{1,3}) "[SHR]-([0-9a-f]{16})"\s*# "')
_BEHIND_SWITCH = re.compile(r" (?:enhanced|base) port 0 lid ([0-9]{1,5}) lmc ([0-7])")
_END = re.compile(
    r'\[([0-9]{1,3})\](?:\(([0-9a-f]{1,16})\))?\s*"[SHR]-([0-9a-f]{16})"\[([0-9]{1,3})\](?: ?\([0-9a-f]{1,16}\))?\s*# (?:lid ([0-9]{1,5}) lmc ([0-7]) )?"'
)
# Some versions omit unknown widths and speeds.
_BEHIND_NAME = re.compile(r" lid [0-9]{1,5}(?: ([0-9]{1,2}|\?)[x?]([A-Z0-9?]+)|\s*\Z)")


class Node(t.NamedTuple):
    """A switch, a channel adapter or a router. GUIDs are "0x" and 16 lower-case digits; "" where the tool prints none."""

    guid: str
    kind: str
    """`switch`, `ca`, `router`."""
    description: str
    """The node description."""
    port_count: int
    system_guid: str = ""
    vendor_id: str = ""
    device_id: str = ""
    port_guid: str = ""
    """The port GUID of a switch, which all of its ports share."""
    lid: int = 0
    """The LID of a switch; of other nodes, each port has its own."""
    lmc: int = 0


class End(t.NamedTuple):
    """A port with a link, and the port at the other end."""

    node_guid: str
    port: int
    port_guid: str
    lid: int
    lmc: int
    peer_guid: str
    """Node GUID."""
    peer_port: int
    width: str
    """`4X`; "" where it is not printed. Likewise the speed."""
    speed: str
    """`EDR`."""


class Topology(t.NamedTuple):
    """A subnet as discovered by ibnetdiscover."""

    nodes: tuple[Node, ...] = ()
    ends: tuple[End, ...] = ()
    unread: tuple[str, ...] = ()
    """Lines that do not match its grammar."""


def _guid(digits: str) -> str:
    return "0x" + digits.zfill(16)


def _node(line: str, ids: t.Mapping[str, tuple[str, str]]) -> Node | None:
    head = _NODE.match(line)
    description, quote, rest = line[head.end() :].rpartition('"') if head else ("", "", "")
    behind = _BEHIND_SWITCH.match(rest)
    if head is None or not quote or (head[1] == "Switch" and behind is None):
        return None
    system, vendor, device = (ids.get(key, ("", ""))[0] for key in ("sysimgguid", "vendid", "devid"))
    return Node(
        guid=_guid(head[3]),
        kind=_KINDS[head[1]],
        description=description.strip(),
        port_count=decimal(head[2], 0),
        system_guid=_guid(system) if system else "",
        vendor_id="0x" + vendor if vendor else "",
        device_id="0x" + device if device else "",
        port_guid=_guid(ids.get("switchguid", ("", ""))[1] or head[3]) if behind else "",
        lid=decimal(behind[1], 0) if behind else 0,
        lmc=decimal(behind[2], 0) if behind else 0,
    )


class _Ends:
    def __init__(self) -> None:
        self._numbers = Once(decimal)
        self._guids = Once(_guid)

    def read(self, line: str, node: Node) -> End | None:
        head = _END.match(line)
        # A name may contain quotes: the last one ends it.
        behind = _BEHIND_NAME.match(line, line.rfind('"') + 1) if head else None
        if head is None or behind is None:
            return None
        port, guid, peer, peer_port, lid, lmc = head.groups()
        width, speed = behind.groups()
        numbers, guids = self._numbers, self._guids
        if node.kind == "switch":
            own = (node.port_guid, node.lid, node.lmc)
        elif guid is None:
            return None
        else:
            own = (guids[guid], numbers[lid or ""] or 0, numbers[lmc or ""] or 0)
        return End(node.guid, numbers[port] or 0, *own, guids[peer], numbers[peer_port] or 0, width + "X" if width else "", speed or "")


def parse_topology(text: str) -> Topology:
    """Parse the output of `ibnetdiscover` without options."""
    nodes: list[Node] = []
    ends: list[End] = []
    unread: list[str] = []
    ids: dict[str, tuple[str, str]] = {}
    node: Node | None = None
    lines = _Ends()
    for line in text.split("\n"):
        if line.startswith("["):
            end = lines.read(line, node) if node else None
            if end:
                ends.append(end)
            else:
                unread.append(line)
        elif not line:
            node, ids = None, {}
        elif line.startswith("#"):
            continue
        else:
            found = _ID.match(line)
            if found:
                ids[found[1]] = (found[2], found[3] or "")
                continue
            node = _node(line, ids)
            if node:
                nodes.append(node)
            else:
                unread.append(line)
    return Topology(tuple(nodes), tuple(ends), tuple(unread))


def command(device: str, port: int) -> tuple[str, ...]:
    """Query through a port. With the empty map, the tool does not rename switches, as it does not rename adapters."""
    return ("ibnetdiscover", "-C", device, "-P", str(port), "--node-name-map", "/dev/null")
