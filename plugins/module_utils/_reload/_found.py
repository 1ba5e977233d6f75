# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The driver of a node and what uses it. Pure."""

from __future__ import annotations

import typing as t

from .._facts._connections import SshPath
from .._facts._modules import Module
from .._facts._trust import Untrusted
from .._facts._usage import User


class Found(t.NamedTuple):
    """The node."""

    modules: tuple[Module, ...] = ()
    """The loaded modules of the stack and those that use it, with what is on disk."""
    users: tuple[User, ...] = ()
    ssh: SshPath = SshPath()
    available: frozenset[str] = frozenset()
    """The modules that the running kernel has on disk, or built in."""
    listed: tuple[str, ...] = ()
    """What rdma-core loads for an adapter."""
    openibd: bool = False
    conf: str = ""
    """The content of openib.conf."""
    aliases: bool = False
    """Whether there is a file in which openibd comments out the aliases of IPoIB."""
    services: tuple[str, ...] = ()
    """Those of CACHE that run, and of SERVICES where openibd unloads the driver."""
    gpudirect: str = ""
    """The unit that loads the module for GPU memory, where there is one."""
    enclosed: str = ""
    """`container` or `chroot`, where it is one."""
    interfaces: tuple[str, ...] = ()
    """The network interfaces that go down with the driver."""
    drivers: frozenset[str] = frozenset()
    """The modules that drive the RDMA devices of the node, whatever their names are."""
    meant_for: str = ""
    """The kernel that boots next, where the vendor's driver is loaded and on disk for that kernel, and not for the running one."""
    untrusted: tuple[Untrusted, ...] = ()
    """The modules to load that the kernel would refuse for their signatures."""
    unfit: tuple[str, ...] = ()
    """The loaded modules that are built for another core than the installed one."""
    of_container: bool = False
    """Whether a container loaded the driver."""
    failed_before: str = ""
    """Why the last attempt failed that was made since the node booted, with the same modules; "" where there was none."""
