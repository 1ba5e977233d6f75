# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The users of RDMA: what would be interrupted if the drivers were unloaded now."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._carried import carrying, read_tap_devices, read_virtual_functions
from ansible_collections.rdma.ofed.plugins.module_utils._facts._connections import Connections, detail, find_connections
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import in_stack, read_loaded
from ansible_collections.rdma.ofed.plugins.module_utils._facts._mounts import Mount, lustre_servers, parse_hosts, parse_mounts, parse_swaps, servers
from ansible_collections.rdma.ofed.plugins.module_utils._facts._namespaces import read_namespaces
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import over_rdma
from ansible_collections.rdma.ofed.plugins.module_utils._facts._network_disks import read_network_disks
from ansible_collections.rdma.ofed.plugins.module_utils._facts._processes import scan_processes
from ansible_collections.rdma.ofed.plugins.module_utils._facts._routes import device_of, read_routes
from ansible_collections.rdma.ofed.plugins.module_utils._facts._storage import Session, block_session, read_sessions
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._namespaces import Namespace
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._processes import Process
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._routes import Route

# Parallel file systems whose mounts don't tell what they run over, and which use verbs or the adapter itself where they can.
_PARALLEL = ("beegfs", "gpfs", "wekafs")
# Those of which a server without a known address may be anywhere, and whose connections are nowhere to be seen.
_OPAQUE = ("panfs",)
# Storage over IP: its address decides whether it runs over an RDMA adapter.
_OVER_IP = ("NVMe over TCP", "iSCSI", "RBD", "DRBD", "NBD")
# Upper layers that load by themselves and are harmless until something holds them.
_ULPS = (
    "9pnet_rdma",
    "ib_iser",
    "ib_isert",
    "ib_srp",
    "ib_srpt",
    "mlx5_vdpa",
    "mlx5_vfio_pci",
    "nvme_rdma",
    "nvmet_rdma",
    "rds_rdma",
    "rnbd_client",
    "rnbd_server",
    "rpcrdma",
    "smc",
    "svcrdma",
    "xprtrdma",
)


class User(t.NamedTuple):
    """One user of RDMA."""

    kind: str
    """`mount`, `process`, `ulp`, `module`, `sm`, `root`, `connection`, `link`, `namespace` or `vf`."""
    name: str
    detail: str = ""
    via: tuple[str, ...] = ()
    """The network interfaces and the files of /dev/infiniband that it is known to use; empty if unknown."""


def _interfaces(address: str, routes: t.Sequence[Route], netdevs: t.Sequence[Netdev]) -> tuple[str, ...]:
    """The RDMA adapter's interface that an address is reached through, if it is."""
    device = device_of(address, routes) if address else ""
    return (device,) if device and over_rdma(device, netdevs) else ()


def mount_reason(
    mount: Mount, routes: t.Sequence[Route], netdevs: t.Sequence[Netdev], *, hosts: t.Mapping[str, str] | None = None
) -> tuple[str, tuple[str, ...]]:
    """Why a mount needs RDMA or an interface of an RDMA adapter, in words ("" if it does not), and through which ones."""
    if mount.type in _PARALLEL:
        return "%s, which uses verbs where it can" % mount.type, ()
    if "rdma" in mount.options or mount.option("proto") == "rdma":
        return "%s over RDMA from %s" % (mount.type, mount.source), _interfaces(mount.option("addr"), routes, netdevs)
    if mount.type == "lustre":
        nids = lustre_servers(mount)
        if any(network == "o2ib" for _address, network in nids) or not nids:
            return "lustre from %s" % mount.source, ()
    addresses = servers(mount, hosts or {})
    for address in addresses:
        found = _interfaces(address, routes, netdevs)
        if found:
            return "%s from %s, reached through %s" % (mount.type, mount.source, found[0]), found
    if mount.type in _OPAQUE and "" in addresses:
        return "%s from %s, whose address is unknown" % (mount.type, mount.source), ()
    return "", ()


def mount_users(mounts: t.Sequence[Mount], routes: t.Sequence[Route], netdevs: t.Sequence[Netdev], *, hosts: t.Mapping[str, str] | None = None) -> list[User]:
    """Network file systems over RDMA or over an RDMA adapter's interface. `hosts` are the addresses of names."""
    users = []
    for mount in mounts:
        reason, via = mount_reason(mount, routes, netdevs, hosts=hosts)
        if reason:
            users.append(User("root" if mount.target == "/" else "mount", mount.target, reason, via))
    return users


def session_users(sessions: t.Sequence[Session], routes: t.Sequence[Route], netdevs: t.Sequence[Netdev]) -> list[User]:
    """Storage sessions over RDMA, and those over IP that leave through an RDMA adapter's interface."""
    users = []
    for session in sessions:
        where = ", address %s" % session.address if session.address else ""
        via = _interfaces(session.address, routes, netdevs)
        if session.protocol not in _OVER_IP:
            users.append(User("ulp", session.name, session.protocol + where, via))
        elif via and session.name not in {user.name for user in users}:
            users.append(User("ulp", session.name, "%s%s, reached through %s" % (session.protocol, where, via[0]), via))
    return users


def module_users(modules: t.Sequence[Module]) -> list[User]:
    """Kernel users: upper layers that something holds, and modules outside of the stack that depend on it."""
    users = []
    for module in modules:
        if module.name in _ULPS and module.own_users:
            users.append(User("ulp", module.name, "held by %d users" % module.own_users))
        elif not in_stack(module.name):
            users.append(User("module", module.name, "is loaded and uses the RDMA modules; refcount %d" % module.refcount))
    return users


def process_users(processes: t.Sequence[Process]) -> list[User]:
    """Subnet managers, and processes that have an RDMA device open."""
    return [
        User(
            "sm" if process.comm == "opensm" else "process",
            process.comm,
            "pid %d%s" % (process.pid, " has %s open" % ", ".join(process.devices) if process.devices else ""),
            process.devices,
        )
        for process in processes
    ]


def connection_users(connections: t.Sequence[Connections]) -> list[User]:
    """Programs with connections over an RDMA adapter's interface. The cards below an interface of a container are unknown."""
    return [User("connection", found.program, detail(found), () if found.place else (found.interface,)) for found in connections]


def namespace_users(namespaces: t.Sequence[Namespace]) -> list[User]:
    """Containers that were given an RDMA adapter's interface, which does not come back to them with the driver."""
    return [
        User("namespace", namespace.comm, "pid %s has %s in a network namespace of its own" % (namespace.pid, ", ".join(sorted(namespace.over_rdma))))
        for namespace in namespaces
        if namespace.pid and namespace.over_rdma
    ]


def read_usage(root: str = "/", netdevs: t.Sequence[Netdev] = (), ssh: str = "") -> tuple[User, ...]:
    """Every user of RDMA on the node, by kind and name. A port that is merely up is none, nor the connection `ssh` of this run."""
    routes = read_routes(root)
    hosts = parse_hosts(attribute(root, "etc/hosts"))
    sessions = (*read_sessions(root), *read_network_disks(root, hosts))
    mounts = parse_mounts(attribute(root, "proc/mounts"))
    users = mount_users(mounts, routes, netdevs, hosts=hosts)
    rdma_sessions = [session for session in sessions if session.name in {user.name for user in session_users(sessions, routes, netdevs)}]
    disks = [("/", mount.source) for mount in mounts if mount.target == "/" and mount.source.startswith("/dev/")]
    for name, device in disks + [(swap, swap) for swap in parse_swaps(attribute(root, "proc/swaps")) if swap.startswith("/dev/")]:
        session = block_session(device, rdma_sessions, root)
        if session:
            users.append(User("root", name, "%s is on %s (%s)" % (device, session.name, session.protocol)))
    scan = scan_processes(root)
    namespaces = read_namespaces(root, netdevs)
    users += session_users(sessions, routes, netdevs) + module_users(read_loaded(root)) + process_users(scan.processes)
    users += connection_users(find_connections(namespaces, scan.sockets, ssh)) + namespace_users(namespaces)
    users += [User("link", *found) for found in carrying(netdevs, read_tap_devices(root))]
    users += [User("vf", "%d virtual functions of %s" % found) for found in read_virtual_functions(root)]
    return tuple(sorted(set(users)))
