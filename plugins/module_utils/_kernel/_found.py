# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernels of a node, and the means to build a driver for them. Pure."""

from __future__ import annotations

import typing as t

from .._distro._family import Family
from .._distro._registry import FAMILIES, by_name
from .._facts._kernels import Kernel, Source
from .._facts._stack import Stack
from .._facts._trust import Untrusted


class Found(t.NamedTuple):
    """The node."""

    kernels: tuple[Kernel, ...] = ()
    running: str = ""
    next_boot: str = ""
    evidence: str = ""
    sources: tuple[Source, ...] = ()
    family: str = FAMILIES[0].name
    kernel_packages: tuple[str, ...] = ()
    """The installed kernel packages, and those that pull in new kernels."""
    owners: t.Mapping[str, frozenset[str]] = {}
    """The packages of the running kernel and of the one that boots next, by release."""
    held: frozenset[str] = frozenset()
    """The packages among these that are held at their versions."""
    headers: frozenset[str] = frozenset()
    """The kernels whose headers are installed."""
    can_lock: bool = True
    """Whether the package manager can hold packages. dnf needs a plugin for that."""
    stack: Stack = Stack("none")
    record: t.Mapping[str, t.Any] = {}
    """The record of the stack's installation, if this collection installed it."""
    prebuilt: t.Mapping[str, str] = {}
    """The installed packages of prebuilt modules, with their versions."""
    tools: frozenset[str] = frozenset()
    """The installed tools of TOOLS."""
    doca_tool: bool = False
    """Whether DOCA's own module builder is installed."""
    untrusted: tuple[Untrusted, ...] = ()
    """The modules of the driver whose signatures the next kernel would refuse, judged by the keys that the running one trusts."""

    @property
    def distribution(self) -> Family:
        """Everything specific to the node's distribution family."""
        return by_name(self.family) or FAMILIES[0]

    @property
    def target(self) -> str:
        """The kernel to provide the driver for: the one that boots next or, where that is unknown, the running one."""
        return self.next_boot or (self.running if self.running in {kernel.release for kernel in self.kernels} else "")
