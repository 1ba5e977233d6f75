# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Whether the connection that manages this node runs over an RDMA adapter."""

from __future__ import annotations

import ipaddress
import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import below, over_rdma
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ip import route_device

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

_VARIABLE = "SSH_CONNECTION"
_GENERATIONS = 32
_PARENT = re.compile(r"^PPid:\s*([0-9]{1,18})\s*$", re.MULTILINE)


class SshPath(t.NamedTuple):
    """The way back to the client; all empty where the node is not managed over SSH."""

    client: str = ""
    device: str = ""
    """The interface that answers leave through."""
    port: str = ""
    """The RDMA port below it, the first one of a bond."""
    ports: tuple[str, ...] = ()
    over_rdma: bool = False
    """Whether it runs over an RDMA adapter, be it InfiniBand or an Ethernet function whose driver goes with the stack."""


def client_address(variable: str) -> str:
    """`SSH_CONNECTION`, "client port server port", -> the client's address without zone; "" where it is none."""
    words = variable.split()
    address = words[0].partition("%")[0] if len(words) == 4 else ""
    try:
        return str(ipaddress.ip_address(address)) if address else ""
    except ValueError:
        return ""


def zone(variable: str) -> str:
    """The interface in `fe80::1%eth0`, which a link-local client has; "" otherwise."""
    return variable.split()[0].partition("%")[2] if variable.split() else ""


def parent_pid(status: str) -> int:
    """PPid of /proc/PID/status; 0 where there is none."""
    match = _PARENT.search(status)
    return decimal(match.group(1), 0) if match else 0


def ssh_connection(environ: t.Mapping[str, str], root: str = "/", pid: int = 0) -> str:
    """`SSH_CONNECTION` of this process or of one that it comes from: sudo takes the variable away from its children."""
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


def ssh_path(variable: str, device: str, netdevs: t.Sequence[Netdev]) -> SshPath:
    """The path of a connection whose answers leave through `device`."""
    ports = tuple(sorted({netdev.port for netdev in below(device, netdevs) if netdev.port}))
    return SshPath(client_address(variable), device, ports[0] if ports else "", ports, over_rdma(device, netdevs))


def read_ssh(run: Runner, netdevs: t.Sequence[Netdev], environ: t.Mapping[str, str], *, root: str = "/", pid: int | None = None) -> SshPath:
    """The path of the connection that started this process, if any."""
    variable = ssh_connection(environ, root, os.getpid() if pid is None else pid)
    client = client_address(variable)
    if not client:
        return SshPath()
    return ssh_path(variable, zone(variable) or route_device(run, client), netdevs)
