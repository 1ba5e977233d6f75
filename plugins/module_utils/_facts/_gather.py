# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Gathers all parts of the facts."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._facts._boot import read_next_boot, read_secure_boot
from ansible_collections.rdma.ofed.plugins.module_utils._facts._connected import with_capability
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import plain as plain_gpu
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import read_gpu
from ansible_collections.rdma.ofed.plugins.module_utils._facts._hcas import read_adapters, read_hcas
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import read_kernels
from ansible_collections.rdma.ofed.plugins.module_utils._facts._links import Link, read_links
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_machine, read_os
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import read_loaded, with_disk
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev, read_netdevs, with_netdevs
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port, read_ports
from ansible_collections.rdma.ofed.plugins.module_utils._facts._soft_links import read_soft_links
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ssh import read_ssh
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack, connected_refused, read_stack
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import read_usage

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

PARTS = ("stack", "kernels", "modules", "hcas", "ports", "netdevs", "usage", "ssh", "machine", "soft_links", "gpu")
_NEED_NETDEVS = {"ports", "netdevs", "usage", "ssh"}


class Facts(t.NamedTuple):
    """The gathered facts."""

    rdma: dict[str, t.Any]
    warnings: tuple[str, ...] = ()
    """What could not be read, and why."""


def _plain(value: t.Any) -> dict[str, t.Any]:
    """A NamedTuple as JSON has it."""
    return {key: list(item) if isinstance(item, tuple) else item for key, item in value._asdict().items()}


def _links(run: Runner, warnings: list[str]) -> dict[str, Link]:
    try:
        return read_links(run)
    except RdmaError as exc:
        warnings.append("addresses and P_Keys of the interfaces are unknown: %s" % exc.msg)
        return {}


def _modules(root: str, run: Runner, warnings: list[str]) -> list[dict[str, t.Any]]:
    modules = read_loaded(root)
    try:
        modules = with_disk(modules, run, root)
    except RdmaError as exc:
        warnings.append("whether the loaded modules are those on disk is unknown: %s" % exc.msg)
    return [_plain(module) for module in modules]


def _kernels(root: str, running: str) -> dict[str, t.Any]:
    following = read_next_boot(root)
    return {
        "running": running,
        "next_boot": following.release,
        "next_boot_evidence": following.evidence,
        "secure_boot": read_secure_boot(root),
        "installed": [_plain(kernel) for kernel in read_kernels(root, running)],
    }


def gather(run: Runner, parts: t.Collection[str], environ: t.Mapping[str, str], *, root: str = "/", running: str = "") -> Facts:
    """The wanted parts of `ansible_facts.rdma`, in plain types; `os` is always included.

    `running` is the running kernel's release. Nothing here fails on a node without HCA, or without any RDMA software.
    """
    warnings: list[str] = []
    rdma: dict[str, t.Any] = {"os": _plain(read_os(root))}
    ports: tuple[Port, ...] = ()
    netdevs: tuple[Netdev, ...] = ()
    stack: Stack | None = read_stack(run, root) if {"stack", "ports", "netdevs"} & set(parts) else None
    refused = connected_refused(stack) if stack else ""
    if _NEED_NETDEVS & set(parts):
        ports = read_ports(root)
        netdevs = read_netdevs(root, ports, links=_links(run, warnings), refused=refused)
        ports = with_capability(with_netdevs(ports, netdevs), netdevs, refused=refused, root=root)
    if "machine" in parts:
        rdma["machine"] = _plain(read_machine(root))
    if "stack" in parts and stack:
        rdma["stack"] = _plain(stack)
    if "kernels" in parts:
        rdma["kernels"] = _kernels(root, running)
    if "modules" in parts:
        rdma["modules"] = _modules(root, run, warnings)
    if "hcas" in parts:
        hcas = read_hcas(root)
        rdma["hcas"] = [_plain(hca) for hca in hcas]
        rdma["adapters"] = [_plain(adapter) for adapter in read_adapters(root, hcas)]
    if "ports" in parts:
        rdma["ports"] = [_plain(port) for port in ports]
    if "netdevs" in parts:
        rdma["netdevs"] = [_plain(netdev) for netdev in netdevs]
    if "usage" in parts:
        users = read_usage(root, netdevs)
        rdma["usage"] = {"in_use": bool(users), "users": [_plain(user) for user in users]}
    if "ssh" in parts:
        rdma["ssh"] = _plain(read_ssh(run, netdevs, environ, root=root, pid=os.getpid()))
    if "soft_links" in parts:
        rdma["soft_links"] = [_plain(link) for link in read_soft_links(root)]
    if "gpu" in parts:
        rdma["gpu"] = plain_gpu(read_gpu(run, running, root))
    return Facts(rdma, tuple(warnings))
