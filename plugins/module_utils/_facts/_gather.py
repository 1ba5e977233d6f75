# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathers all parts of the facts."""

from __future__ import annotations

import os
import typing as t

from .._errors import RdmaError
from .._record import as_data
from .._tools._ip import Link, read_links
from . import _railrule
from ._boot import read_next_boot, read_secure_boot
from ._connections import read_ssh, ssh_connection
from ._dkms_order import order_of, read_configured
from ._gpu import read_gpu
from ._kernels import read_kernels
from ._machine import read_machine, read_os
from ._modules import Module, read_loaded, with_disk
from ._netdevs import Netdev, read_netdevs, with_capability, with_netdevs
from ._ports import Port, read_adapters, read_hcas, read_ports
from ._soft_links import read_soft_links
from ._stack import Stack, connected_refused, read_stack
from ._usage import read_usage

if t.TYPE_CHECKING:
    from .._host._run import Runner

T = t.TypeVar("T")

PARTS = ("stack", "kernels", "modules", "hcas", "ports", "netdevs", "usage", "ssh", "machine", "soft_links", "gpu")
_NEED_NETDEVS = {"ports", "netdevs", "usage", "ssh"}


def _or_warn(read: t.Callable[[], T], default: T, words: str, *, warnings: list[str]) -> T:
    """The result of `read`; if it fails, the default, with a warning in these words."""
    try:
        return read()
    except RdmaError as exc:
        warnings.append("%s: %s" % (words, exc.msg))
        return default


def _modules(root: str, run: Runner, warnings: list[str]) -> tuple[Module, ...]:
    modules = read_loaded(root)
    return _or_warn(lambda: with_disk(modules, run, root), modules, "whether the loaded modules are those on disk is unknown", warnings=warnings)


def _kernels(root: str, running: str) -> dict[str, t.Any]:
    following = read_next_boot(root)
    return {
        "running": running,
        "next_boot": following.release,
        "next_boot_evidence": following.evidence,
        "secure_boot": read_secure_boot(root),
        "installed": read_kernels(root, running),
        "dkms_order_due": order_of(read_configured(root, running)).due,
    }


def _usage(root: str, netdevs: t.Sequence[Netdev], ssh: str) -> dict[str, t.Any]:
    users = read_usage(root, netdevs, ssh)
    return {"in_use": bool(users), "users": users}


def gather(
    run: Runner, parts: t.Collection[str], environ: t.Mapping[str, str], *, root: str = "/", running: str = ""
) -> tuple[dict[str, t.Any], tuple[str, ...]]:
    """The wanted parts of `ansible_facts.rdma`, in plain types, and warnings about what could not be read; `os` is always included.

    `running`: the release of the running kernel. Nothing here fails on a node without an HCA, or without any RDMA software.
    """
    warnings: list[str] = []
    ports: tuple[Port, ...] = ()
    netdevs: tuple[Netdev, ...] = ()
    stack: Stack | None = read_stack(run, root) if {"stack", "ports", "netdevs"} & set(parts) else None
    refused = connected_refused(stack) if stack else ""
    if _NEED_NETDEVS & set(parts):
        ports = read_ports(root)
        links: dict[str, Link] = _or_warn(lambda: read_links(run), {}, "addresses and P_Keys of the interfaces are unknown", warnings=warnings)
        netdevs = read_netdevs(root, ports, links=links, refused=refused)
        ports = with_capability(with_netdevs(ports, netdevs), netdevs, refused=refused, root=root)
    readers: t.Mapping[str, t.Callable[[], t.Any]] = {
        "machine": lambda: read_machine(root),
        "stack": lambda: stack,
        "kernels": lambda: _kernels(root, running),
        "modules": lambda: _modules(root, run, warnings),
        "hcas": lambda: read_hcas(root),
        "ports": lambda: ports,
        "netdevs": lambda: netdevs,
        "usage": lambda: _usage(root, netdevs, ssh_connection(environ, root, os.getpid())),
        "ssh": lambda: read_ssh(run, netdevs, environ, root=root, pid=os.getpid()),
        "soft_links": lambda: read_soft_links(root),
        "gpu": lambda: read_gpu(run, running, root),
    }
    rdma = {"os": read_os(root), **{name: read() for name, read in readers.items() if name in parts}}
    if "hcas" in rdma:
        rdma["adapters"] = read_adapters(root, rdma["hcas"])
        rdma["rails"] = _railrule.read(root)
    return as_data(rdma), tuple(warnings)
