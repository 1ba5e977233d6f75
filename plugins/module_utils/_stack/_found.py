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
    """The selection of the last run that succeeded."""
    interrupted: str = ""
    """How the last job ended before its time, in words; "" where it did not."""
    begun: t.Mapping[str, t.Any] = {}
    """The purpose of the last job, as of `Wanted.purpose`."""
    files: t.Mapping[str, str] = {}
    """Contents of the repository files."""
    folders: tuple[str, ...] = ()
    """Where the package manager finds files of repositories, as of `Manager.repository_folders`."""
    protection: str = ""
    """Content of the file that keeps packages from being replaced."""
    can_protect: bool = True
    """Whether the package manager has what that takes."""
    alternatives: t.Mapping[str, str] = {}
    """The versions that the stack to come has of installed packages."""
    users: tuple[User, ...] = ()
    """Those of RDMA, where they were looked for."""

    @property
    def manager(self) -> Manager:
        """The package manager."""
        return (by_name(self.os.family) or FAMILIES[0]).manager

    @property
    def protected(self) -> bool:
        """Whether packages are kept at their versions by the collection."""
        return bool(self.manager.protection_path) and self.manager.is_protected(self.protection)

    @property
    def vendors(self) -> list[str]:
        """The vendor's packages that are installed, wholly or in part, and the stack's own that were left half installed."""
        left = taken_by_installer(packages.broken(self.packages))
        return sorted({*vendors(self.packages, self.stack.ofed_version), *left})

    @property
    def broken(self) -> list[str]:
        """The packages of the vendor's stack that were left half installed."""
        mine = self.vendors
        return [name for name in packages.broken(self.packages) if name in mine]

    @property
    def is_whole(self) -> bool:
        """Whether nothing tells of an installation that did not come to its end, by a job of the collection or by other means."""
        return self.stack.complete and not self.interrupted and not self.broken

    @property
    def is_surely_half(self) -> bool:
        """Whether more than the words of `ofed_info` tells that the installation did not come to its end, or that this collection began it."""
        # The record stays where the vendor's own uninstaller took the stack away, and says nothing of what came later.
        is_of_this = self.record.get("source") == self.stack.kind and same_version(str(self.record.get("version") or ""), self.stack.ofed_version)
        return bool(self.interrupted or self.broken) or is_of_this

    @property
    def is_vendors(self) -> bool:
        """Whether a vendor's stack is installed, or what an interrupted installation left of one."""
        return self.stack.kind in ("mlnx_ofed", "doca")
