# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`iblinkinfo`: the links of a fabric."""

from __future__ import annotations

import re
import typing as t

from .._foreign import Once, decimal
from ._smpquery import GBPS

if t.TYPE_CHECKING:
    from .._host._run import Runner

# It queries each switch of the fabric, port by port.
TIMEOUT_SECONDS = 300.0

_GUID_LENGTH = 18
_NEAR = re.compile(r'0x[0-9a-f]{16} "')
_NAME_AT = _GUID_LENGTH + 2
# `%6d %4d[%2s] ==(%14s%6s/%8s)==>  `, or width and speed in place of the blanks.
_MIDDLE = re.compile(r'" ([ 0-9]{6}) ([ 0-9]{4})\[[ 0-9]{2,3}\] ==\(([^"\n]{29,200}?)\)==>  ')
_FAR = re.compile(r'(0x[0-9a-f]{16}) [ 0-9]{6} ([ 0-9]{4})\[[ 0-9]{2,3}\] "')
_NOBODY = re.compile(r' {11}\[  \] "" \( \)\Z| {4}"Port not available"\Z')
_BETTER = re.compile(r" \(.*\)\Z")
_COULD_BE = "Could be "
# The rate of one lane as libibmad prints it.
_SPEEDS = {**{"%s Gbps" % gbps: speed for gbps, speed in GBPS.items()}, "10.0 Gbps (FDR10)": "FDR10"}


class LinkState(t.NamedTuple):
    """The part within `==( 4X 25.78125 Gbps Active/  LinkUp)==>`."""

    state: str
    """`Active`, `Down`, `Initialize`, `Armed`."""
    phys_state: str
    """`LinkUp`, `Polling` ..."""
    width: str = ""
    """`4X`; "" while the link is down."""
    speed: str = ""
    """`EDR`; the printed rate where that has no name."""


class LinkPort(t.NamedTuple):
    """A port as iblinkinfo lists it."""

    port_guid: str
    """Port GUID; a switch has one for all of its ports."""
    port: int
    description: str
    lid: int
    link: LinkState
    peer_guid: str = ""
    """Port GUID; "" where nothing is connected at the other end."""
    peer_port: int = 0
    peer_description: str = ""
    better: tuple[str, str] = ("", "")
    """Width and speed that both ends support; "" where the link has reached it."""


class LinkPorts(t.NamedTuple):
    ports: tuple[LinkPort, ...] = ()
    unread: tuple[str, ...] = ()
    """Lines that do not match its grammar."""


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
    """Parses line by line. Texts that many lines share are parsed once.

    A description may contain any character, and may imitate another line. It has at most 64 bytes, and the text between two names is
    padded to more than that, so the widths of the columns tell where a name ends. An ambiguous line is rejected.
    """

    def __init__(self) -> None:
        self._numbers = Once(decimal)
        self._links = Once(_link)
        self._betters = Once(_better)

    def _number(self, text: str) -> int | None:
        return self._numbers[text.strip()]

    def _far(self, text: str) -> tuple[str, int, str, tuple[str, str]] | None:
        """GUID, port, name and possible improvements of the other end; empty values where nothing is connected."""
        if _NOBODY.match(text):
            return "", 0, "", ("", "")
        head = _FAR.match(text)
        name, quote, better = text[head.end() :].rpartition('"') if head else ("", "", "")
        port = self._number(head[2]) if head else None
        if head is None or port is None or not quote or not _BETTER.match(better):
            return None
        return head[1], port, name.strip(), self._betters[better]

    def _port(self, line: str, middle: t.Match[str]) -> LinkPort | None:
        lid, port = self._number(middle[1]), self._number(middle[2])
        link, far = self._links[middle[3]], self._far(line[middle.end() :])
        if lid is None or port is None or link is None or far is None:
            return None
        return LinkPort(line[:_GUID_LENGTH], port, line[_NAME_AT : middle.start()].strip(), lid, link, *far)

    def read(self, line: str) -> LinkPort | None:
        """Parse a line; None for a line that describes no port."""
        if _NEAR.match(line) is None:
            return None
        found = [port for port in (self._port(line, middle) for middle in _MIDDLE.finditer(line, _NAME_AT)) if port is not None]
        return found[0] if len(found) == 1 else None


def parse_ports(text: str) -> LinkPorts:
    """Parse `iblinkinfo --line`: every listed port, with or without a link."""
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
    """Parse `iblinkinfo --line`: node descriptions by port GUID, for both ends of each active link. A switch has one GUID for all of its ports."""
    found: dict[str, str] = {}
    for port in parse_ports(text).ports:
        if port.link.state == "Active" and port.peer_guid:
            found.update({port.port_guid: port.description, port.peer_guid: port.peer_description})
    return found


def active_ports(run: Runner, device: str, port: int) -> dict[str, str]:
    """The ports of all active links, as seen through a port. Raises RdmaError where they can't be listed."""
    return parse_active(run(command(device, port), timeout=TIMEOUT_SECONDS).stdout)
