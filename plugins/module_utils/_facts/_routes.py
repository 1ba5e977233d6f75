# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which interface leads to an address: the kernel's main routing tables in procfs, without a process."""

from __future__ import annotations

import ipaddress
import re
import sys
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute

_UP = 0x0001
_REJECT = 0x0200
_HEX4 = re.compile(r"^[0-9A-Fa-f]{8}$")
_HEX6 = re.compile(r"^[0-9A-Fa-f]{32}$")
_SHORT = re.compile(r"^[0-9A-Fa-f]{1,8}$")

Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


class Route(t.NamedTuple):
    """One route."""

    network: Network
    device: str
    metric: int = 0


def parse_route4(text: str, byteorder: str = sys.byteorder) -> tuple[Route, ...]:
    """/proc/net/route: addresses are printed as numbers in the byte order of the machine."""
    routes = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 8 or not (_HEX4.match(fields[1]) and _HEX4.match(fields[7]) and _SHORT.match(fields[3]) and fields[6].isdigit()):
            continue
        flags = int(fields[3], 16)
        if not flags & _UP or flags & _REJECT:
            continue
        destination, mask = (_ipv4(fields[index], byteorder) for index in (1, 7))
        try:
            routes.append(Route(ipaddress.IPv4Network("%s/%s" % (destination, mask), strict=False), fields[0], _metric(fields[6], 10)))
        except ValueError:
            continue
    return tuple(routes)


def _ipv4(word: str, byteorder: str) -> ipaddress.IPv4Address:
    raw = bytes.fromhex(word)
    return ipaddress.IPv4Address(raw[::-1] if byteorder == "little" else raw)


def _metric(text: str, base: int) -> int:
    try:
        return int(text, base)
    except ValueError:
        return 0


def parse_route6(text: str) -> tuple[Route, ...]:
    """/proc/net/ipv6_route."""
    routes = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 10 or not (_HEX6.match(fields[0]) and _SHORT.match(fields[1]) and _SHORT.match(fields[5]) and _SHORT.match(fields[8])):
            continue
        flags, length = int(fields[8], 16), int(fields[1], 16)
        if not flags & _UP or flags & _REJECT or length > 128:
            continue
        network = ipaddress.IPv6Network((int(fields[0], 16), length), strict=False)
        routes.append(Route(network, fields[9], int(fields[5], 16)))
    return tuple(routes)


def device_of(address: str, routes: t.Sequence[Route]) -> str:
    """The device of the longest matching prefix with the lowest metric; "" where nothing matches or it is no address."""
    try:
        wanted = ipaddress.ip_address(address.partition("%")[0].strip("[]"))
    except ValueError:
        return ""
    matching = [route for route in routes if route.network.version == wanted.version and wanted in route.network]
    best = min(matching, key=lambda route: (-route.network.prefixlen, route.metric), default=None)
    return best.device if best else ""


def read_routes(root: str = "/") -> tuple[Route, ...]:
    """The main tables of both families. Rules that choose other tables are not followed."""
    return parse_route4(attribute(root, "proc/net/route")) + parse_route6(attribute(root, "proc/net/ipv6_route"))
