# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cabling of the topology file: which port a management datagram came from, and what that port supports.

All ports of ibsim support 12X HDR regardless of the file, so every slower link would look degraded. Here an adapter port supports what the file says of its
link, and a switch port the best of all links of that switch.
"""

from __future__ import annotations

import re
import typing as t

Port = t.Tuple[str, int]
"""Node name as in the file (S-GUID, H-GUID) and port number."""

_NODE = re.compile(r'^(Switch|Ca)\s+\d+\s+"([^"]+)"')
_LINK = re.compile(r'^\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]+)"\[(\d+)\].*?(?:\s(\d+)x([A-Z0-9]+))?\s*$')
_WIDTHS = {"1": 0x01, "4": 0x03, "12": 0x0B}
_SPEEDS = {"SDR": (0x1, 0x0), "DDR": (0x3, 0x0), "QDR": (0x7, 0x0), "FDR": (0x7, 0x1), "EDR": (0x7, 0x3), "HDR": (0x7, 0x7)}


class Supported(t.NamedTuple):
    """Bits of PortInfo: `width` with all narrower widths, `speed` up to QDR, `extended` from FDR."""

    width: int
    speed: int
    extended: int


class Cabling:
    """Links of a topology and what their ports support; empty without a topology."""

    def __init__(self, topology: str = "") -> None:
        self._links: dict[Port, Port] = {}
        self._supported: dict[Port, Supported] = {}
        self._switches: dict[str, Supported] = {}
        kind = node = ""
        for line in topology.splitlines():
            if begin := _NODE.match(line):
                kind, node = begin.groups()
            elif (link := _LINK.match(line)) and node:
                port, peer, there, width, speed = link.groups()
                self._links[node, int(port)] = (peer, int(there))
                if width in _WIDTHS and speed in _SPEEDS:
                    supported = Supported(_WIDTHS[width], *_SPEEDS[speed])
                    self._supported[node, int(port)] = supported
                    if kind == "Switch":
                        former = self._switches.get(node, Supported(0, 0, 0))
                        self._switches[node] = Supported(*map(max, zip(former, supported)))

    def end_of(self, node: str, path: t.Sequence[int]) -> str | None:
        """Return the node at the end of a directed route, None if the route leaves the file."""
        for leaving in path:
            reached = self._links.get((node, leaving))
            if reached is None:
                return None
            node, _port = reached
        return node

    def supported(self, node: str, port: int) -> Supported | None:
        """Return what a port supports, None for an adapter port without a link or if the file gives no speed that ibsim knows."""
        return self._switches.get(node) or self._supported.get((node, port))
