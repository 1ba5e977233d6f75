# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`iblinkinfo`: the links of a fabric."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import Once, decimal
from ansible_collections.rdma.ofed.plugins.module_utils._tools._smpquery import GBPS

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# It queries each switch of the fabric, one port after the other.
TIMEOUT_SECONDS = 300.0

_ARROW = "==>"
_GUID = re.compile(r"0x[0-9a-f]{16}\Z")
_LINK = " ==("
_COULD_BE = "Could be "
# Rate of one lane, as libibmad prints it.
_SPEEDS = {**{"%s Gbps" % gbps: speed for gbps, speed in GBPS.items()}, "10.0 Gbps (FDR10)": "FDR10"}


class LinkState(t.NamedTuple):
    """The inside of `==( 4X 25.78125 Gbps Active/  LinkUp)==>`."""

    state: str
    """`Active`, `Down`, `Initialize`, `Armed`."""
    phys_state: str
    """`LinkUp`, `Polling` ..."""
    width: str = ""
    """`4X`; "" while it is down."""
    speed: str = ""
    """`EDR`; what the tool prints where that has no name."""


class LinkPort(t.NamedTuple):
    """A port as iblinkinfo lists it."""

    port_guid: str
    """That of a switch for all of its ports."""
    port: int
    description: str
    lid: int
    link: LinkState
    peer_guid: str = ""
    """Port GUID; "" where nothing is at the other end."""
    peer_port: int = 0
    peer_description: str = ""
    better: tuple[str, str] = ("", "")
    """Width and speed that both ends can do; "" where the link has it."""


class LinkPorts(t.NamedTuple):
    ports: tuple[LinkPort, ...] = ()
    unread: tuple[str, ...] = ()
    """Lines that are none of its grammar."""


def _guid(text: str) -> str:
    """The GUID; "" for anything else."""
    return text if _GUID.match(text) else ""


def _link(text: str) -> LinkState | None:
    left, slash, phys_state = text.strip().rpartition("/")
    words = left.split()
    if not slash or not words or not phys_state.strip():
        return None
    width = words[: 2 if words[0] == "undefined" else 1] if len(words) > 1 else []
    speed = " ".join(words[len(width) : -1])
    return LinkState(words[-1], phys_state.strip(), " ".join(width), _SPEEDS.get(speed, speed))


def _better(text: str) -> tuple[str, str]:
    """`(Could be 12X Could be 10.0 Gbps)` -> `("12X", "QDR")`."""
    width = speed = ""
    for part in text.strip(" ()").split(_COULD_BE):
        what = part.strip()
        if what.endswith("X"):
            width = what
        elif what:
            speed = _SPEEDS.get(what, what)
    return width, speed


class _Lines:
    """Reads line by line; of what is the same in many lines, each text once."""

    def __init__(self) -> None:
        self._numbers = Once(decimal)
        self._guids = Once(_guid)
        self._nodes = Once(self._node)
        self._links = Once(_link)
        self._betters = Once(_better)

    def _node(self, text: str) -> tuple[str, str] | None:
        """`0x0002c90300f00010 "        leaf1` -> GUID and name."""
        start, quote, name = text.partition(' "')
        guid = self._guids[start]
        return (guid, name.strip()) if quote and guid else None

    def _place(self, text: str) -> tuple[int, int] | None:
        """`     2    1[  ]` -> LID and number of a port."""
        words = text.partition("[")[0].split()
        lid, port = (self._numbers[words[0]], self._numbers[words[1]]) if len(words) == 2 else (None, None)
        return None if lid is None or port is None else (lid, port)

    def read(self, line: str) -> LinkPort | None:
        """None for what is no line of a port. Names may have any character: the outer quotes end them."""
        near, _arrow, far = line.rpartition(")" + _ARROW)
        head, _mark, inside = near.rpartition(_LINK)
        named, _end, numbers = head.rpartition('"')
        place = self._place(numbers)
        node, link = self._nodes[named], self._links[inside]
        if node is None or place is None or link is None:
            return None
        guid, name = node
        lid, port = place
        before, quote, named = far.partition('"')
        there = before.split(None, 1)
        peer_guid = self._guids[there[0]] if len(there) == 2 else ""
        if not peer_guid:
            return LinkPort(guid, port, name, lid, link) if quote else None
        peer = self._place(there[1])
        peer_name, _end, better = named.rpartition('"')
        return LinkPort(guid, port, name, lid, link, peer_guid, peer[1], peer_name.strip(), self._betters[better]) if peer else None


def parse_ports(text: str) -> LinkPorts:
    """`iblinkinfo --line`: every port that it lists, with a link or not."""
    lines = _Lines()
    ports: list[LinkPort] = []
    unread: list[str] = []
    for line in text.split("\n"):
        port = lines.read(line)
        if port is not None:
            ports.append(port)
        elif line.strip():
            unread.append(line)
    return LinkPorts(tuple(ports), tuple(unread))


def command(device: str, port: int) -> tuple[str, ...]:
    return ("iblinkinfo", "-C", device, "-P", str(port), "--line", "--node-name-map", "/dev/null")


def parse_active(text: str) -> dict[str, str]:
    """`iblinkinfo --line` -> the ports at both ends of each active link: node descriptions by port GUID, that of a switch for all of its ports."""
    found: dict[str, str] = {}
    for port in parse_ports(text).ports:
        if port.link.state == "Active" and port.peer_guid:
            found.update({port.port_guid: port.description, port.peer_guid: port.peer_description})
    return found


def active_ports(run: Runner) -> dict[str, str]:
    """The ports of all active links, as this node sees them. Raises RdmaError where they can't be listed."""
    return parse_active(run(["iblinkinfo", "--line"], timeout=TIMEOUT_SECONDS).stdout)
