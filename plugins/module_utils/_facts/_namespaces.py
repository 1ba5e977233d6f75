# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The network namespaces of the node: their sockets, their routes, and their interfaces on an RDMA adapter.

An interface that was moved to a container is not listed on the host. Its namespace is found through its processes.
"""

from __future__ import annotations

import functools
import os
import typing as t

from ._netdevs import HCA_DRIVERS, INFINIBAND, Netdev, over_rdma
from ._sockets import Route, Sockets, address_of, parse_inet, parse_route4, parse_route6, parse_sctp
from ._sysfs import attribute, entries, link_name, process_ids

# The hexadecimal digits of an InfiniBand hardware address.
_INFINIBAND_DIGITS = 40
_TABLES = (("tcp", "tcp"), ("tcp", "tcp6"), ("udp", "udp"), ("udp", "udp6"))


class Namespace(t.NamedTuple):
    pid: str = ""
    """A process in it; "" for the namespace of this process."""
    comm: str = ""
    sockets: Sockets = Sockets()
    routes: tuple[Route, ...] = ()
    addresses: t.Mapping[str, str] = {}
    """The interfaces of its addresses, as far as they are known."""
    over_rdma: frozenset[str] = frozenset()
    """Its interfaces on an RDMA adapter."""


def parse_if_inet6(text: str) -> dict[str, str]:
    """Parse /proc/net/if_inet6: address, index, prefix length, scope, flags, name."""
    found = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 6 and len(fields[0]) == 32:
            try:
                found[address_of(fields[0], "big")] = fields[5]
            except ValueError:
                continue
    return found


def parse_dev(text: str) -> frozenset[str]:
    """Parse /proc/net/dev: the names of the interfaces, after two heading lines."""
    return frozenset(line.partition(":")[0].strip() for line in text.splitlines()[2:] if ":" in line)


def parse_dev_mcast(text: str) -> frozenset[str]:
    """Parse /proc/net/dev_mcast: index, name, two counters, hardware address. Returns the names of interfaces with InfiniBand addresses."""
    rows = [line.split() for line in text.splitlines()]
    return frozenset(row[1] for row in rows if len(row) == 5 and len(row[4]) == _INFINIBAND_DIGITS)


def _sockets(net: str) -> Sockets:
    found = [parse_inet(protocol, attribute(net, name)) for protocol, name in _TABLES]
    connected = [socket for part in found for socket in part.connected]
    bound = tuple(socket for part in found for socket in part.bound)
    return Sockets((*connected, *parse_sctp(attribute(net, "sctp/assocs"))), frozenset().union(*(part.listening for part in found)), bound)


def _read(net: str) -> Namespace:
    """Read /proc/net or /proc/PID/net. Only the main routing tables are included; rules that select other tables are not followed."""
    routes = parse_route4(attribute(net, "route")) + parse_route6(attribute(net, "ipv6_route"))
    return Namespace(sockets=_sockets(net), routes=routes, addresses=parse_if_inet6(attribute(net, "if_inet6")))


def _host_indexes(root: str, over: t.Collection[str]) -> frozenset[str]:
    """The indices of the host's interfaces through which others reach an RDMA adapter: those on top of it, and members of its bridges."""
    base = os.path.join(root, "sys/class/net")
    names = [name for name in entries(base) if name in over or link_name(base, name, "master") in over]
    return frozenset(attribute(base, name, "ifindex") for name in names) - {""}


def _in_namespace(root: str, pid: str, host: t.Callable[[], frozenset[str]]) -> frozenset[str]:
    """The interfaces over an RDMA adapter in the namespace of a process."""
    net = os.path.join(root, "proc", pid, "net")
    found = set(parse_dev_mcast(attribute(net, "dev_mcast")))
    # The /sys that a container has mounted shows its own interfaces; a process that only changed its namespace sees those of the host.
    base = os.path.join(root, "proc", pid, "root/sys/class/net")
    names = [name for name in entries(base) if name != "bonding_masters"]
    if not names or set(names) != parse_dev(attribute(net, "dev")):
        return frozenset(found)
    indexes = {attribute(base, name, "ifindex") for name in names}
    for name in names:
        below = attribute(base, name, "iflink")
        is_port = attribute(base, name, "type") == INFINIBAND or link_name(base, name, "device/driver") in HCA_DRIVERS
        if is_port or (below and below not in indexes and below in host()):
            found.add(name)
    return frozenset(found)


def _others(root: str) -> list[str]:
    """One process of each other network namespace."""
    seen = {link_name(root, "proc/self/ns/net")}
    found = []
    for pid in process_ids(root):
        namespace = link_name(root, "proc", pid, "ns/net")
        if namespace and namespace not in seen:
            seen.add(namespace)
            found.append(pid)
    return found


def read_namespaces(root: str, netdevs: t.Sequence[Netdev]) -> tuple[Namespace, ...]:
    """The namespace of this process, then all others that have processes."""
    over = frozenset(netdev.name for netdev in netdevs if over_rdma(netdev.name, netdevs))
    addresses = {address.partition("/")[0]: netdev.name for netdev in netdevs for address in (*netdev.addresses, *netdev.dynamic_addresses)}
    own = _read(os.path.join(root, "proc/net"))
    found = [own._replace(addresses={**own.addresses, **addresses}, over_rdma=over)]
    host = functools.lru_cache(maxsize=None)(lambda: _host_indexes(root, over))
    for pid in _others(root):
        other = _read(os.path.join(root, "proc", pid, "net"))
        found.append(other._replace(pid=pid, comm=attribute(root, "proc", pid, "comm"), over_rdma=_in_namespace(root, pid, host)))
    return tuple(found)
