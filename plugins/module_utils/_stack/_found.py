# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stack of a node, and its packages. Pure."""

from __future__ import annotations

import typing as t

from .._distro._registry import FAMILIES, by_name
from .._facts._machine import OperatingSystem
from .._facts._stack import Stack
from .._facts._usage import User
from .._tools import _packages as packages
from .._tools._packages import Manager, Package
from ._bundle import same_version
from ._package_names import taken_by_installer, vendors


class Found(t.NamedTuple):
    """The stack of a node, and all packages."""

    os: OperatingSystem = OperatingSystem()
    stack: Stack = Stack("none")
    packages: t.Mapping[str, Package] = {}
    record: t.Mapping[str, t.Any] = {}
    """The selection of the last successful run."""
    interrupted: str = ""
    """How the last job was interrupted, in words; "" where it was not."""
    begun: t.Mapping[str, t.Any] = {}
    """The purpose of the last job, in the form of `Wanted.purpose`."""
    files: t.Mapping[str, str] = {}
    """The content of the repository files, by path."""
    folders: tuple[str, ...] = ()
    """Where the package manager looks for repository files, from `Manager.repository_folders`."""
    protection: str = ""
    """The content of the file that protects packages from replacement."""
    can_protect: bool = True
    """Whether the package manager supports the protection."""
    alternatives: t.Mapping[str, str] = {}
    """The versions of installed packages in the stack to be installed."""
    users: tuple[User, ...] = ()
    """The users of RDMA, where they were looked for."""

    @property
    def manager(self) -> Manager:
        """The package manager."""
        return (by_name(self.os.family) or FAMILIES[0]).manager

    @property
    def protected(self) -> bool:
        """Whether the collection keeps packages at their versions."""
        return bool(self.manager.protection_path) and self.manager.is_protected(self.protection)

    @property
    def vendors(self) -> list[str]:
        """The vendor's packages that are installed, completely or partly, and half-installed packages of the stack."""
        left = taken_by_installer(packages.broken(self.packages))
        return sorted({*vendors(self.packages, self.stack.ofed_version), *left})

    @property
    def broken(self) -> list[str]:
        """The half-installed packages of the vendor's stack."""
        mine = self.vendors
        return [name for name in packages.broken(self.packages) if name in mine]

    @property
    def is_whole(self) -> bool:
        """Whether there is no sign of an incomplete installation, by a job of the collection or by other means."""
        return self.stack.complete and not self.interrupted and not self.broken

    @property
    def is_surely_half(self) -> bool:
        """Whether more than the output of `ofed_info` shows an incomplete installation, or that this collection started it."""
        # The record outlives a removal by the vendor's own uninstaller, and says nothing about a later stack.
        is_of_this = self.record.get("source") == self.stack.kind and same_version(str(self.record.get("version") or ""), self.stack.ofed_version)
        return bool(self.interrupted or self.broken) or is_of_this

    @property
    def is_vendors(self) -> bool:
        """Whether a vendor's stack is installed, or the remains of an interrupted installation of one."""
        return self.stack.kind in ("mlnx_ofed", "doca")
