# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernels of a node, and what a driver for them can be built with. Pure."""

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
    """The installed packages of kernels, and those that bring new ones."""
    owners: t.Mapping[str, frozenset[str]] = {}
    """The packages that the running kernel and the one that boots next came with, by release."""
    held: frozenset[str] = frozenset()
    """Those of them that the package manager keeps as they are."""
    headers: frozenset[str] = frozenset()
    """The kernels whose headers are there."""
    can_lock: bool = True
    """Whether the package manager can keep packages as they are, which takes a plugin of dnf."""
    stack: Stack = Stack("none")
    record: t.Mapping[str, t.Any] = {}
    """What the stack was installed with, where it was by this collection."""
    prebuilt: t.Mapping[str, str] = {}
    """The installed packages of ready-made modules, with their versions."""
    tools: frozenset[str] = frozenset()
    """Those of TOOLS that are there."""
    doca_tool: bool = False
    """Whether DOCA's own builder of modules is installed."""
    untrusted: tuple[Untrusted, ...] = ()
    """What of the driver for the kernel that boots next that kernel would refuse, by the keys that the running one trusts."""

    @property
    def distribution(self) -> Family:
        """Everything in which the family of distributions differs from others."""
        return by_name(self.family) or FAMILIES[0]

    @property
    def target(self) -> str:
        """The kernel to care for. Where it can't be told which one boots next, the running one."""
        return self.next_boot or (self.running if self.running in {kernel.release for kernel in self.kernels} else "")
