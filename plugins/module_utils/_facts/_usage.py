# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The users of RDMA: what unloading the drivers now would interrupt. This includes interfaces that carry traffic of virtual machines and containers."""

from __future__ import annotations

import os
import typing as t

from .._foreign import integer
from . import _storage as storage
from ._connections import Connections, detail, find_connections
from ._modules import Module, in_stack, read_loaded
from ._namespaces import Namespace, read_namespaces
from ._netdevs import HCA_DRIVERS, Netdev, over_rdma
from ._processes import Process, scan_processes
from ._sockets import Table
from ._sysfs import PCI_ADDRESS, attribute, entries

# Parallel file systems whose mounts don't tell their transport, and which use verbs or the adapter directly where possible.
_PARALLEL = ("beegfs", "gpfs", "wekafs")
# Parallel file systems whose servers may be anywhere if the address is unknown, and whose connections are not visible.
_OPAQUE = ("panfs",)
# Storage over IP: its address tells whether it uses an RDMA adapter.
_OVER_IP = ("NVMe over TCP", "iSCSI", "RBD", "DRBD", "NBD")
# Upper layers that are loaded automatically and are harmless while they are not in use.
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
# The master of all ports of Open vSwitch (`ovs_netdev_link` in net/openvswitch/vport-netdev.c).
_OPEN_VSWITCH = "ovs-system"


class User(t.NamedTuple):
    kind: str
    """`mount`, `process`, `ulp`, `module`, `sm`, `root`, `connection`, `link`, `namespace` or `vf`."""
    name: str
    detail: str = ""
    via: tuple[str, ...] = ()
    """The network interfaces and the files of /dev/infiniband that it is known to use; empty if unknown."""


def _interfaces(address: str, ways: Table, netdevs: t.Sequence[Netdev]) -> tuple[str, ...]:
    """The RDMA adapter's interface through which an address is reached, if any."""
    device = ways.device_of(address) if address else ""
    return (device,) if device and over_rdma(device, netdevs) else ()


def mount_reason(mount: storage.Mount, ways: Table, netdevs: t.Sequence[Netdev], *, hosts: t.Mapping[str, str] | None = None) -> tuple[str, tuple[str, ...]]:
    """Why a mount needs RDMA or an interface of an RDMA adapter, in words ("" if it does not), and the interfaces used."""
    if mount.type in _PARALLEL:
        return "%s, which uses verbs if it can" % mount.type, ()
    if "rdma" in mount.options or mount.option("proto") == "rdma":
        return "%s over RDMA from %s" % (mount.type, mount.source), _interfaces(mount.option("addr"), ways, netdevs)
    if mount.type == "lustre":
        nids = storage.lustre_servers(mount)
        if any(network == "o2ib" for _address, network in nids) or not nids:
            return "lustre from %s" % mount.source, ()
    addresses = storage.servers(mount, hosts or {})
    for address in addresses:
        found = _interfaces(address, ways, netdevs)
        if found:
            return "%s from %s, reached through %s" % (mount.type, mount.source, found[0]), found
    if mount.type in _OPAQUE and "" in addresses:
        return "%s from %s, whose address is unknown" % (mount.type, mount.source), ()
    return "", ()


def mount_users(mounts: t.Sequence[storage.Mount], ways: Table, netdevs: t.Sequence[Netdev], *, hosts: t.Mapping[str, str] | None = None) -> list[User]:
    """Network file systems over RDMA or over an RDMA adapter's interface. `hosts`: addresses by host name."""
    users = []
    for mount in mounts:
        reason, via = mount_reason(mount, ways, netdevs, hosts=hosts)
        if reason:
            users.append(User("root" if mount.target == "/" else "mount", mount.target, reason, via))
    return users


def session_users(sessions: t.Sequence[storage.Session], ways: Table, netdevs: t.Sequence[Netdev]) -> list[User]:
    """Storage sessions over RDMA, and those over IP that use an RDMA adapter's interface."""
    users = []
    for session in sessions:
        where = ", address %s" % session.address if session.address else ""
        via = _interfaces(session.address, ways, netdevs)
        if session.protocol not in _OVER_IP:
            users.append(User("ulp", session.name, session.protocol + where, via))
        elif via and session.name not in {user.name for user in users}:
            users.append(User("ulp", session.name, "%s%s, reached through %s" % (session.protocol, where, via[0]), via))
    return users


def module_users(modules: t.Sequence[Module]) -> list[User]:
    """Kernel users: upper layers in use, and modules outside of the stack that depend on it."""
    users = []
    for module in modules:
        if module.name in _ULPS and module.own_users:
            users.append(User("ulp", module.name, "held by %d users" % module.own_users))
        elif not in_stack(module.name):
            users.append(User("module", module.name, "is loaded and uses the RDMA modules; reference count %d" % module.refcount))
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
    """Containers that own an RDMA adapter's interface, which does not return to them after a reload of the driver."""
    return [
        User("namespace", namespace.comm, "pid %s has %s in a network namespace of its own" % (namespace.pid, ", ".join(sorted(namespace.over_rdma))))
        for namespace in namespaces
        if namespace.pid and namespace.over_rdma
    ]


def read_tap_devices(root: str = "/") -> frozenset[str]:
    """The interfaces with a program at their other end, usually a virtual machine (`tun_flags` in drivers/net/tun.c)."""
    base = os.path.join(root, "sys/class/net")
    return frozenset(name for name in entries(base) if os.path.exists(os.path.join(base, name, "tun_flags")))


def read_virtual_functions(root: str = "/") -> tuple[tuple[int, str], ...]:
    """The number of virtual functions of each PCI function of an RDMA adapter that has any."""
    functions = [pci for driver in HCA_DRIVERS for pci in entries(root, "sys/bus/pci/drivers", driver) if PCI_ADDRESS.match(pci)]
    counts = [(integer(attribute(root, "sys/bus/pci/devices", pci, "sriov_numvfs")) or 0, pci) for pci in sorted(functions)]
    return tuple(found for found in counts if found[0])


def _bridge(netdev: Netdev, netdevs: t.Sequence[Netdev], taps: t.Collection[str]) -> tuple[str, str, tuple[str, ...]] | None:
    ours = tuple(name for name in netdev.members if over_rdma(name, netdevs))
    others = ["%s (a virtual machine)" % name if name in taps else name for name in netdev.members if name not in ours]
    if not ours or not (others or netdev.name == _OPEN_VSWITCH):
        return None
    switch = "ports of Open vSwitch:" if netdev.name == _OPEN_VSWITCH else "a bridge with"
    between = "%s and %s" % (", ".join(ours), ", ".join(others)) if others else ", ".join(ours)
    return netdev.name, "%s %s" % (switch, between), ours


def carrying(netdevs: t.Sequence[Netdev], taps: t.Collection[str] = ()) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Bridges between an RDMA adapter and others, and macvlan, ipvlan or tunnels on top of one: name, words, and the adapter's interfaces."""
    found = []
    for netdev in netdevs:
        if netdev.kind == "bridge" or netdev.name == _OPEN_VSWITCH:
            bridge = _bridge(netdev, netdevs, taps)
            found += [bridge] if bridge else []
        elif netdev.kind == "other" and netdev.up and netdev.parent and over_rdma(netdev.parent, netdevs):
            found.append((netdev.name, "an interface on top of %s" % netdev.parent, (netdev.parent,)))
    return tuple(found)


def read_usage(root: str = "/", netdevs: t.Sequence[Netdev] = (), ssh: str = "") -> tuple[User, ...]:
    """Every user of RDMA on the node, by kind and name. A port that is merely up does not count, nor does the connection `ssh` of this run."""
    namespaces = read_namespaces(root, netdevs)
    ways = Table(namespaces[0].routes)
    hosts = storage.parse_hosts(attribute(root, "etc/hosts"))
    sessions = storage.read_sessions(root, hosts)
    mounts = storage.parse_mounts(attribute(root, "proc/mounts"))
    users = mount_users(mounts, ways, netdevs, hosts=hosts)
    holding = session_users(sessions, ways, netdevs)
    rdma_sessions = [session for session in sessions if session.name in {user.name for user in holding}]
    disks = [("/", mount.source) for mount in mounts if mount.target == "/" and mount.source.startswith("/dev/")]
    for name, device in disks + [(swap, swap) for swap in storage.parse_swaps(attribute(root, "proc/swaps")) if swap.startswith("/dev/")]:
        session = storage.block_session(device, rdma_sessions, root)
        if session:
            users.append(User("root", name, "%s is on %s (%s)" % (device, session.name, session.protocol)))
    scan = scan_processes(root)
    users += holding + module_users(read_loaded(root)) + process_users(scan.processes)
    users += connection_users(find_connections(namespaces, scan.sockets, ssh)) + namespace_users(namespaces)
    users += [User("link", *found) for found in carrying(netdevs, read_tap_devices(root))]
    users += [User("vf", "%d virtual functions of %s" % found) for found in read_virtual_functions(root)]
    return tuple(sorted(set(users)))
