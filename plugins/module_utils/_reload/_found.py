# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The driver of a node and its users. Pure."""

from __future__ import annotations

import typing as t

from .._facts._connections import SshPath
from .._facts._modules import Module
from .._facts._trust import Untrusted
from .._facts._usage import User


class Found(t.NamedTuple):
    """The node."""

    modules: tuple[Module, ...] = ()
    """The loaded modules of the stack and those that use it, with their versions on disk."""
    users: tuple[User, ...] = ()
    ssh: SshPath = SshPath()
    available: frozenset[str] = frozenset()
    """The modules that the running kernel has on disk or built in."""
    listed: tuple[str, ...] = ()
    """The modules that rdma-core loads for an adapter."""
    openibd: bool = False
    conf: str = ""
    """The content of openib.conf."""
    aliases: bool = False
    """Whether there is a file in which openibd comments out the aliases of IPoIB."""
    services: tuple[str, ...] = ()
    """The running units of CACHE and, where openibd unloads the driver, of SERVICES."""
    gpudirect: str = ""
    """The unit that loads the module for GPU memory, where it exists."""
    enclosed: str = ""
    """`container` or `chroot`, where the node is one; else ""."""
    interfaces: tuple[str, ...] = ()
    """The network interfaces that go down with the driver."""
    drivers: frozenset[str] = frozenset()
    """The modules that drive the RDMA devices of the node, whatever their names."""
    meant_for: str = ""
    """The kernel that boots next, if the vendor's driver is loaded, and installed for that kernel but not for the running one."""
    untrusted: tuple[Untrusted, ...] = ()
    """The modules to load whose signatures the kernel would refuse."""
    unfit: tuple[str, ...] = ()
    """The loaded modules that are built for another core than the installed one."""
    of_container: bool = False
    """Whether a container loaded the driver."""
    failed_before: str = ""
    """Why the last attempt since boot with the same modules failed; "" where there was none."""
