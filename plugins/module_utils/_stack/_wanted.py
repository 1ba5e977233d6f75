# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The declared stack. Pure."""

from __future__ import annotations

import typing as t

from .._facts._stack import DOCA as PROFILES
from .._facts._stack import Stack
from .._tools import _packages as packages
from .._tools._packages import Repository
from ._bundle import same_version
from ._installer_options import user_only


class Wanted(t.NamedTuple):
    """The declared stack."""

    state: str = "present"
    source: str = "mlnx_ofed"
    version: str = ""
    method: str = "installer"
    packages: str = ""
    installer_options: tuple[str, ...] = ()
    repository: Repository | None = None
    allow_removal: tuple[str, ...] = ()
    allow_upgrade: bool = False
    """Whether a stack that is in use may be replaced."""
    firmware_update: bool = False
    keep: tuple[str, ...] = ()
    """Packages that stay, in the distribution's version, when the vendor's stack is removed."""
    distro: str = ""
    """The distribution to pass to the installer; "" where it detects it."""
    protect: bool = True
    """Whether the packages of the stack are protected from replacement by those of other repositories."""
    as_is: bool = False
    """Whether any set of packages of the release will do."""
    also: tuple[tuple[str, ...], ...] = ()
    """Packages to install along with the stack, each with its alternatives."""

    @property
    def metapackage(self) -> str:
        """The package of a repository that pulls in all others: the profile of DOCA, or the set of MLNX_OFED."""
        if self.source == "doca":
            return self.packages or PROFILES[0]
        return "mlnx-ofed-%s" % (user_only(self.packages) + "-user-only" if self.has_no_modules else self.packages)

    @property
    def has_no_modules(self) -> bool:
        """Whether the stack consists of user space only."""
        return self.source != "doca" and bool(user_only(self.packages))

    @property
    def words(self) -> str:
        """`doca 2.9.1`."""
        return ("%s %s" % (self.source, self.version)).strip()

    def fits(self, stack: Stack) -> bool:
        """Whether a found stack has this source and release, complete or not. Without a version, any release fits."""
        if self.source == "inbox":
            return stack.kind not in ("mlnx_ofed", "doca")
        same = packages.version_fits if self.source == "doca" else same_version
        return stack.kind == self.source and (not self.version or same(self.version, stack.version))

    def selection(self) -> dict[str, t.Any]:
        """The properties that can't be read from the node afterwards, and are kept on record."""
        return {
            "source": self.source,
            "version": self.version,
            "method": self.method,
            "packages": self.packages,
            "installer_options": list(self.installer_options),
        }

    def purpose(self) -> dict[str, t.Any]:
        """What a job is for."""
        return {**self.selection(), "state": self.state}
