# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections over the interfaces of RDMA adapters: the one that manages this node, and those of programs.

The latter are grouped, because a node may have ten thousand.
"""

from __future__ import annotations

import ipaddress
import os
import re
import typing as t

from .._foreign import Once, decimal
from .._tools._ip import route_device
from .._words import some
from ._netdevs import Netdev, below, over_rdma
from ._sockets import Socket, Table
from ._sysfs import attribute

if t.TYPE_CHECKING:
    from .._host._run import Runner
    from ._namespaces import Namespace
    from ._processes import Process

_SHOWN = 3
# No process has the sockets of NFS, Ceph and DRBD open.
_KERNEL = "kernel"
_VARIABLE = "SSH_CONNECTION"
_GENERATIONS = 32
_PARENT = re.compile(r"^PPid:\s*([0-9]{1,18})\s*$", re.MULTILINE)


class Connections(t.NamedTuple):
    """The connections of one program over one interface, or its sockets that are bound to an address of it and have no peer."""

    program: str
    interface: str
    place: str
    """A process in the network namespace; "" for that of the host."""
    protocols: tuple[str, ...]
    peers: tuple[str, ...]
    """Empty for bound sockets without a peer."""
    ports: tuple[int, ...]
    """The ports on the side that offers the service."""
    pids: tuple[int, ...]
    number: int


class _Ways:
    """The interfaces of one namespace that the ends of its connections are on."""

    def __init__(self, namespace: Namespace, host: Namespace, ways_of_host: Table) -> None:
        self._namespace = namespace
        self._routes = Table(namespace.routes)
        # An address outside of the own networks, such as that of a service on `lo`, is not on the interface of the default route.
        self._networks = Table(route for route in namespace.routes if route.network.prefixlen)
        self._host, self._ways_of_host = host, ways_of_host
        self._known = Once(self._look_up)

    def interface(self, socket: Socket) -> str:
        """The interface of an RDMA adapter that a connection, or a bound address, needs; "" for none."""
        return self._known[socket.local, socket.remote]

    def _look_up(self, ends: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
        namespace, (local, remote) = self._namespace, ends
        if remote and all(ipaddress.ip_address(address).is_loopback for address in remote):
            return ""
        own = [namespace.addresses.get(address) or self._networks.device_of(address) for address in local]
        # Link-local addresses are the same on every interface.
        away = [address for address in remote if not ipaddress.ip_address(address).is_link_local]
        names = [*own, *(self._routes.device_of(address) for address in away)]
        found = next((name for name in names if name in namespace.over_rdma), "")
        if not found and namespace.pid:
            # Via the host, which forwards packets of a container.
            names = [self._ways_of_host.device_of(address) for address in away]
            found = next((name for name in names if name in self._host.over_rdma), "")
        return found


def own_ends(variable: str) -> tuple[tuple[str, int, str, int], ...]:
    """`SSH_CONNECTION`, "client port server port", as the ends of sockets on this node. The client's end is included if it is on this node, as with a relay."""
    words = variable.split()
    ports = [decimal(word) for word in words[1::2]]
    if len(words) != 4 or ports[0] is None or ports[1] is None:
        return ()
    client, server = (words[0].partition("%")[0], ports[0]), (words[2].partition("%")[0], ports[1])
    return (*server, *client), (*client, *server)


def find_connections(namespaces: t.Sequence[Namespace], holders: t.Mapping[str, Process], ssh: str = "") -> tuple[Connections, ...]:
    """The connections, by program, in all namespaces that are lost with an RDMA adapter's driver. That of this run, `ssh`, is left out.

    The first namespace is that of the host. `holders`: processes by the inodes of their sockets.
    """
    own = own_ends(ssh)
    ways_of_host = Table(namespaces[0].routes)
    groups: dict[tuple[str, str, str, bool], list[tuple[Socket, int, int]]] = {}
    for namespace in namespaces:
        ways = _Ways(namespace, namespaces[0], ways_of_host)
        for socket in (*namespace.sockets.connected, *namespace.sockets.bound):
            interface = ways.interface(socket)
            if not interface or (socket.local[0], socket.local_port, *socket.remote[:1], socket.remote_port) in own:
                continue
            holder = holders.get(socket.inode)
            program = holder.comm if holder else _KERNEL
            offered = not socket.remote or (socket.protocol, socket.local_port) in namespace.sockets.listening
            row = (socket, socket.local_port if offered else socket.remote_port, holder.pid if holder else 0)
            groups.setdefault((program, interface, namespace.pid, not socket.remote), []).append(row)
    return tuple(_grouped(*key[:3], rows=rows) for key, rows in sorted(groups.items()))


def _grouped(program: str, interface: str, place: str, *, rows: t.Sequence[tuple[Socket, int, int]]) -> Connections:
    return Connections(
        program=program,
        interface=interface,
        place=place,
        protocols=tuple(sorted({socket.protocol for socket, _port, _pid in rows})),
        peers=tuple(sorted({address for socket, _port, _pid in rows for address in socket.remote[:1]})),
        ports=tuple(sorted({port for _socket, port, _pid in rows})),
        pids=tuple(sorted({pid for _socket, _port, pid in rows} - {0})),
        number=len(rows),
    )


def detail(found: Connections) -> str:
    """One group in words, whose length does not depend on the number of connections."""
    kind = "connection%s over" if found.peers else "socket%s bound to an address of"
    what = "%d %s %s %s" % (found.number, " and ".join(found.protocols), kind % ("s" if found.number != 1 else ""), found.interface)
    parts = [what, *(["with %s" % some(found.peers, _SHOWN)] if found.peers else []), "port %s" % some(found.ports, _SHOWN)]
    parts += ["pid %s" % some(found.pids, _SHOWN)] if found.pids else []
    parts += ["in the network namespace of pid %s" % found.place] if found.place else []
    return ", ".join(parts)


class SshPath(t.NamedTuple):
    """The path back to the client; all fields are empty where the node is not managed over SSH."""

    client: str = ""
    device: str = ""
    """The outgoing interface for replies."""
    port: str = ""
    """The RDMA port below it; for a bond, the first one."""
    ports: tuple[str, ...] = ()
    over_rdma: bool = False
    """Whether it uses an RDMA adapter, be it InfiniBand or an Ethernet function whose driver is part of the stack."""


def client_address(variable: str) -> str:
    """The client's address, without zone, from `SSH_CONNECTION` ("client port server port"); "" where there is none."""
    words = variable.split()
    address = words[0].partition("%")[0] if len(words) == 4 else ""
    try:
        return str(ipaddress.ip_address(address)) if address else ""
    except ValueError:
        return ""


def parent_pid(status: str) -> int:
    """PPid of /proc/PID/status; 0 where it is missing."""
    match = _PARENT.search(status)
    return decimal(match.group(1), 0) if match else 0


def ssh_connection(environ: t.Mapping[str, str], root: str = "/", pid: int = 0) -> str:
    """`SSH_CONNECTION` of this process or of an ancestor: sudo removes the variable from the environment."""
    if environ.get(_VARIABLE):
        return environ[_VARIABLE]
    for _generation in range(_GENERATIONS):
        pid = parent_pid(attribute(root, "proc", str(pid), "status")) if pid > 1 else 0
        if pid <= 1:
            break
        for item in attribute(root, "proc", str(pid), "environ").split("\0"):
            name, _equals, value = item.partition("=")
            if name == _VARIABLE and value:
                return value
    return ""


def read_ssh(run: Runner, netdevs: t.Sequence[Netdev], environ: t.Mapping[str, str], *, root: str = "/", pid: int | None = None) -> SshPath:
    """The path of the connection that started this process, if any."""
    variable = ssh_connection(environ, root, os.getpid() if pid is None else pid)
    client = client_address(variable)
    if not client:
        return SshPath()
    # A link-local client address includes the interface: fe80::1%eth0.
    device = variable.split()[0].partition("%")[2] or route_device(run, client)
    ports = tuple(sorted({netdev.port for netdev in below(device, netdevs) if netdev.port}))
    return SshPath(client, device, ports[0] if ports else "", ports, over_rdma(device, netdevs))
