# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sockets and routes of one network namespace, from procfs. Pure.

/proc/net/tcp, tcp6: `get_tcp4_sock` in net/ipv4/tcp_ipv4.c, `get_tcp6_sock` in net/ipv6/tcp_ipv6.c.
/proc/net/udp, udp6: `udp4_format_sock` in net/ipv4/udp.c, `__ip6_dgram_sock_seq_show` in net/ipv6/datagram.c.
/proc/net/sctp/assocs: `sctp_assocs_seq_show` in net/sctp/proc.c.
SMC has no list of its own: each of its sockets keeps the TCP connection with which it was negotiated.
"""

from __future__ import annotations

import functools
import ipaddress
import sys
import typing as t

from .._foreign import Once, decimal, hexadecimal

# include/net/tcp_states.h. A connection closed by the peer may still be read from, and a closing one may have data in flight.
_ESTABLISHED = "01"
_TCP = (_ESTABLISHED, "04", "08")
_TCP_LISTEN = "0A"
# A UDP socket without a peer.
_UDP_CLOSE = "07"
# `enum sctp_state` in include/net/sctp/constants.h: established, and the four shutdown states, in which data are still delivered.
_SCTP = ("3", "4", "5", "6", "7")
_HIGHEST_PORT = 65535
_FIELDS = 10
# DHCP and DHCPv6 clients, and NTP: they bind to each address of the node automatically, and follow changes of interfaces.
_FOLLOWING = (68, 123, 546)

# Flags of a route.
_UP = 0x0001
_REJECT = 0x0200

Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


class Socket(t.NamedTuple):
    """One end of a connection."""

    protocol: str
    """`tcp`, `udp` or `sctp`."""
    local: tuple[str, ...]
    """Its addresses. Only SCTP has several."""
    local_port: int
    remote: tuple[str, ...]
    """Empty for a bound socket without a peer."""
    remote_port: int
    inode: str = ""
    """Identifies the processes that have it open. No process has sockets of the kernel open."""


class Sockets(t.NamedTuple):
    """The sockets of one network namespace."""

    connected: tuple[Socket, ...] = ()
    listening: frozenset[tuple[str, int]] = frozenset()
    """Protocols and ports with a listening socket."""
    bound: tuple[Socket, ...] = ()
    """UDP sockets without a peer that are bound to an address: their programs take part in any exchange with it."""


def plain_address(text: str) -> str:
    """An address in its usual notation, with IPv4-mapped IPv6 addresses as IPv4. Raises ValueError for anything else."""
    found = ipaddress.ip_address(text)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


@functools.lru_cache(maxsize=65536)
def address_of(word: str, byteorder: str) -> str:
    """Parse `0100007F`: the address in groups of 32 bits, each printed as a number in the machine's byte order."""
    raw = bytes.fromhex(word)
    if byteorder == "little":
        raw = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
    if len(raw) not in (4, 16):
        raise ValueError(word)
    return plain_address(str(ipaddress.ip_address(raw)))


def _end(field: str, byteorder: str) -> tuple[str, int]:
    address, _colon, port = field.partition(":")
    return address_of(address, byteorder), hexadecimal(port, 0)


def _is_of_interface(address: str) -> bool:
    found = ipaddress.ip_address(address)
    return not (found.is_unspecified or found.is_loopback or found.is_multicast)


def parse_inet(protocol: str, text: str, byteorder: str = sys.byteorder) -> Sockets:
    """Parse /proc/net/tcp, tcp6, udp or udp6; `protocol` is `tcp` or `udp`."""
    connected: list[Socket] = []
    listening: set[tuple[str, int]] = set()
    bound: list[Socket] = []
    states, waiting = (_TCP, _TCP_LISTEN) if protocol == "tcp" else ((_ESTABLISHED,), _UDP_CLOSE)
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < _FIELDS or fields[3] not in (*states, waiting):
            continue
        try:
            (local, port), (remote, remote_port) = _end(fields[1], byteorder), _end(fields[2], byteorder)
        except ValueError:
            continue
        if fields[3] == waiting:
            listening.add((protocol, port))
            if protocol == "udp" and port not in _FOLLOWING and _is_of_interface(local):
                bound.append(Socket(protocol, (local,), port, (), 0, fields[9]))
        else:
            connected.append(Socket(protocol, (local,), port, (remote,), remote_port, fields[9]))
    return Sockets(tuple(connected), frozenset(listening), tuple(bound))


def _addresses(words: t.Iterable[str]) -> tuple[str, ...]:
    """The addresses of one end; the primary one is marked with an asterisk."""
    found = []
    for word in words:
        try:
            found.append(plain_address(word.lstrip("*")))
        except ValueError:
            # The columns after the addresses.
            break
    return tuple(found)


def parse_sctp(text: str) -> tuple[Socket, ...]:
    """Parse /proc/net/sctp/assocs: ... ST (5th) ... INODE LPORT RPORT (11th to 13th), local addresses `<->` remote addresses, and more."""
    found = []
    for line in text.splitlines():
        left, arrow, right = line.partition("<->")
        fields = left.split()
        if not arrow or len(fields) < 14 or fields[4] not in _SCTP:
            continue
        ends = _addresses(fields[13:]), _addresses(right.split())
        local, remote = decimal(fields[11]), decimal(fields[12])
        if all(ends) and local is not None and remote is not None and max(local, remote) <= _HIGHEST_PORT:
            found.append(Socket("sctp", ends[0], local, ends[1], remote, fields[10]))
    return tuple(found)


class Route(t.NamedTuple):
    network: Network
    device: str
    metric: int = 0


def _usable(text: str, parse: t.Callable[[list[str]], tuple[Route, int]]) -> tuple[Route, ...]:
    """The routes of all lines that are up and have a device. `parse` turns the fields of a line into a route and its flags."""
    found = []
    for line in text.splitlines():
        try:
            route, flags = parse(line.split())
        except (ValueError, IndexError):
            # The heading line.
            continue
        if flags & _UP and not flags & _REJECT:
            found.append(route)
    return tuple(found)


def parse_route4(text: str, byteorder: str = sys.byteorder) -> tuple[Route, ...]:
    """Parse /proc/net/route, where addresses are printed as numbers in the machine's byte order."""

    def parse(fields: list[str]) -> tuple[Route, int]:
        network = ipaddress.IPv4Network("%s/%s" % (address_of(fields[1], byteorder), address_of(fields[7], byteorder)), strict=False)
        return Route(network, fields[0], decimal(fields[6], 0)), hexadecimal(fields[3], 0)

    return _usable(text, parse)


def parse_route6(text: str) -> tuple[Route, ...]:
    """Parse /proc/net/ipv6_route."""

    def parse(fields: list[str]) -> tuple[Route, int]:
        network = ipaddress.IPv6Network((bytes.fromhex(fields[0]), hexadecimal(fields[1], 0)), strict=False)
        return Route(network, fields[9], hexadecimal(fields[5], 0)), hexadecimal(fields[8], 0)

    return _usable(text, parse)


class Table:
    """Routes by prefix length: the time of a lookup does not depend on their number."""

    def __init__(self, routes: t.Iterable[Route]) -> None:
        found: dict[tuple[int, int], dict[int, Route]] = {}
        for route in routes:
            prefixes = found.setdefault((route.network.version, route.network.prefixlen), {})
            number = int(route.network.network_address)
            if number not in prefixes or route.metric < prefixes[number].metric:
                prefixes[number] = route
        self._lengths = {version: sorted((length for family, length in found if family == version), reverse=True) for version in (4, 6)}
        self._found = found
        self._known = Once(self._look_up)

    def device_of(self, address: str) -> str:
        """The device of the longest matching prefix with the lowest metric; "" where nothing matches or the argument is no address."""
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
