# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The users of RDMA: what would be interrupted if the drivers were unloaded now."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import in_stack, read_loaded
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import over_rdma
from ansible_collections.rdma.ofed.plugins.module_utils._facts._processes import read_processes
from ansible_collections.rdma.ofed.plugins.module_utils._facts._routes import device_of, read_routes
from ansible_collections.rdma.ofed.plugins.module_utils._facts._storage import Session, block_session, read_sessions
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._processes import Process
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._routes import Route

# Parallel file systems whose mounts don't tell what they run over, and which use verbs where they can.
_PARALLEL = ("beegfs", "gpfs")
_SERVER = re.compile(r"(?:^|[:,])\[?([0-9A-Fa-f.:]+)\]?@(o2ib|tcp)")
# The kernel escapes tab, newline, blank, number sign and backslash only.
_ESCAPE = re.compile(r"\\(011|012|040|043|134)")
# Upper layers that load by themselves and are harmless until something holds them.
_ULPS = (
    "9pnet_rdma",
    "ib_iser",
    "ib_isert",
    "ib_srp",
    "ib_srpt",
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
    """`mount`, `process`, `ulp`, `module`, `sm` or `root`."""
    name: str
    detail: str = ""
    via: tuple[str, ...] = ()
    """The network interfaces and the files of /dev/infiniband that it is known to use; empty if unknown."""


class Mount(t.NamedTuple):
    """One line of /proc/mounts."""

    source: str
    target: str
    type: str
    options: tuple[str, ...] = ()

    def option(self, name: str) -> str:
        """The value of `name=value`, or ""."""
        return next((option.partition("=")[2] for option in self.options if option.partition("=")[0] == name), "")


def _plain(field: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), field)


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """/proc/mounts: source, target, type, options; blanks within are written in octal."""
    rows = [line.split(" ") for line in text.splitlines()]
    return tuple(Mount(_plain(row[0]), _plain(row[1]), row[2], tuple(row[3].split(","))) for row in rows if len(row) >= 4)


def parse_swaps(text: str) -> tuple[str, ...]:
    """/proc/swaps: the files and devices swapped to, after one line of headings."""
    return tuple(_plain(line.split()[0]) for line in text.splitlines()[1:] if line.strip())


def _interfaces(address: str, routes: t.Sequence[Route], netdevs: t.Sequence[Netdev]) -> tuple[str, ...]:
    """The RDMA adapter's interface that an address is reached through, if it is."""
    device = device_of(address, routes) if address else ""
    return (device,) if device and over_rdma(device, netdevs) else ()


def mount_reason(mount: Mount, routes: t.Sequence[Route], netdevs: t.Sequence[Netdev]) -> tuple[str, tuple[str, ...]]:
    """Why a mount needs RDMA or an interface of an RDMA adapter, in words ("" if it does not), and through which ones."""
    if mount.type in _PARALLEL:
        return "%s, which uses verbs where it can" % mount.type, ()
    if "rdma" in mount.options or mount.option("proto") == "rdma":
        return "%s over RDMA from %s" % (mount.type, mount.source), _interfaces(mount.option("addr"), routes, netdevs)
    servers = [mount.option("addr")]
    if mount.type == "lustre":
        nids = _SERVER.findall(mount.source)
        if any(network == "o2ib" for _address, network in nids) or not nids:
            return "lustre from %s" % mount.source, ()
        servers = [address for address, _network in nids]
    for server in servers:
        found = _interfaces(server, routes, netdevs)
        if found:
            return "%s from %s, reached through %s" % (mount.type, mount.source, found[0]), found
    return "", ()


def mount_users(mounts: t.Sequence[Mount], routes: t.Sequence[Route], netdevs: t.Sequence[Netdev]) -> list[User]:
    """Network file systems over RDMA or over an RDMA adapter's interface."""
    users = []
    for mount in mounts:
        reason, via = mount_reason(mount, routes, netdevs)
        if reason:
            users.append(User("root" if mount.target == "/" else "mount", mount.target, reason, via))
    return users


def session_users(sessions: t.Sequence[Session], routes: t.Sequence[Route], netdevs: t.Sequence[Netdev]) -> list[User]:
    """Storage sessions over RDMA, and those over IP that leave through an RDMA adapter's interface."""
    users = []
    for session in sessions:
        where = ", address %s" % session.address if session.address else ""
        via = _interfaces(session.address, routes, netdevs)
        if session.protocol not in ("NVMe over TCP", "iSCSI"):
            users.append(User("ulp", session.name, session.protocol + where, via))
        elif via:
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


def read_usage(root: str = "/", netdevs: t.Sequence[Netdev] = ()) -> tuple[User, ...]:
    """Every user of RDMA on the node, by kind and name. A port that is merely up is none."""
    routes = read_routes(root)
    sessions = read_sessions(root)
    mounts = parse_mounts(attribute(root, "proc/mounts"))
    users = mount_users(mounts, routes, netdevs)
    rdma_sessions = [session for session in sessions if session.name in {user.name for user in session_users(sessions, routes, netdevs)}]
    disks = [("/", mount.source) for mount in mounts if mount.target == "/" and mount.source.startswith("/dev/")]
    for name, device in disks + [(swap, swap) for swap in parse_swaps(attribute(root, "proc/swaps")) if swap.startswith("/dev/")]:
        session = block_session(device, rdma_sessions, root)
        if session:
            users.append(User("root", name, "%s is on %s (%s)" % (device, session.name, session.protocol)))
    users += session_users(sessions, routes, netdevs) + module_users(read_loaded(root)) + process_users(read_processes(root))
    return tuple(sorted(set(users)))
