# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which interface leads to an address: the kernel's main routing tables in procfs, without a process."""

from __future__ import annotations

import ipaddress
import sys
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal, hexadecimal

_UP = 0x0001
_REJECT = 0x0200

Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


class Route(t.NamedTuple):
    """One route."""

    network: Network
    device: str
    metric: int = 0


def _usable(text: str, parse: t.Callable[[list[str]], tuple[Route, int]]) -> tuple[Route, ...]:
    """The routes of all lines that are up and lead somewhere; `parse` makes a route and its flags of the fields of a line."""
    found = []
    for line in text.splitlines():
        try:
            route, flags = parse(line.split())
        except (ValueError, IndexError):
            # The headings.
            continue
        if flags & _UP and not flags & _REJECT:
            found.append(route)
    return tuple(found)


def parse_route4(text: str, byteorder: str = sys.byteorder) -> tuple[Route, ...]:
    """/proc/net/route: addresses are printed as numbers in the byte order of the machine."""

    def address(word: str) -> ipaddress.IPv4Address:
        raw = bytes.fromhex(word)
        return ipaddress.IPv4Address(raw[::-1] if byteorder == "little" else raw)

    def parse(fields: list[str]) -> tuple[Route, int]:
        network = ipaddress.IPv4Network("%s/%s" % (address(fields[1]), address(fields[7])), strict=False)
        return Route(network, fields[0], decimal(fields[6], 0)), hexadecimal(fields[3], 0)

    return _usable(text, parse)


def parse_route6(text: str) -> tuple[Route, ...]:
    """/proc/net/ipv6_route."""

    def parse(fields: list[str]) -> tuple[Route, int]:
        network = ipaddress.IPv6Network((bytes.fromhex(fields[0]), hexadecimal(fields[1], 0)), strict=False)
        return Route(network, fields[9], hexadecimal(fields[5], 0)), hexadecimal(fields[8], 0)

    return _usable(text, parse)


class Table:
    """Routes, by the lengths of their prefixes: the way to an address is found in the same time whatever their number."""

    def __init__(self, routes: t.Iterable[Route]) -> None:
        found: dict[tuple[int, int], dict[int, Route]] = {}
        for route in routes:
            prefixes = found.setdefault((route.network.version, route.network.prefixlen), {})
            number = int(route.network.network_address)
            if number not in prefixes or route.metric < prefixes[number].metric:
                prefixes[number] = route
        self._lengths = {version: sorted((length for family, length in found if family == version), reverse=True) for version in (4, 6)}
        self._found = found
        self._known: dict[str, str] = {}

    def device_of(self, address: str) -> str:
        """The device of the longest matching prefix with the lowest metric; "" where nothing matches or it is no address."""
        if address not in self._known:
            self._known[address] = self._look_up(address)
        return self._known[address]

    def _look_up(self, address: str) -> str:
        try:
            wanted = ipaddress.ip_address(address.partition("%")[0].strip("[]"))
        except ValueError:
            return ""
        for length in self._lengths[wanted.version]:
            rest = wanted.max_prefixlen - length
            route = self._found[wanted.version, length].get(int(wanted) >> rest << rest)
            if route is not None:
                return route.device
        return ""


def device_of(address: str, routes: t.Sequence[Route]) -> str:
    """The device that one address is reached through; "" where nothing leads there or it is no address."""
    return Table(routes).device_of(address)


def read_routes(root: str = "/") -> tuple[Route, ...]:
    """The main tables of both families. Rules that choose other tables are not followed."""
    return parse_route4(attribute(root, "proc/net/route")) + parse_route6(attribute(root, "proc/net/ipv6_route"))
