# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Installed packages, for all package managers. Pure."""

from __future__ import annotations

import typing as t


class Package(t.NamedTuple):
    """An installed package."""

    version: str
    state: str = "installed"
    """dpkg's word: `installed`, `half-configured`, `unpacked`, `half-installed`, `triggers-pending` ..."""
    depends: tuple[str, ...] = ()
    """Names of the packages that it needs, alternatives included. From dpkg only."""
    lost: bool = False
    """Interrupted while its files were replaced: dpkg neither configures nor removes it unless forced."""
    held: bool = False
    """Kept at its version. From dpkg only."""

    @property
    def is_installed(self) -> bool:
        """Whether it is there to work with. One that waits for the triggers of others is."""
        return self.state in ("installed", "triggers-pending", "triggers-awaited")

    @property
    def broken(self) -> bool:
        """Left behind by an interrupted installation."""
        return self.state in ("half-configured", "unpacked", "half-installed")


class Transaction(t.NamedTuple):
    """What a package manager would do. Names and versions; a version is "" where it is not told."""

    removed: t.Mapping[str, str]
    installed: t.Mapping[str, str]
    """Upgrades are here, too."""


def broken(packages: t.Mapping[str, Package]) -> list[str]:
    """The packages that an interrupted installation left behind."""
    return sorted(name for name, package in packages.items() if package.broken)


def lost(packages: t.Mapping[str, Package]) -> list[str]:
    """The packages that have to be reinstalled."""
    return sorted(name for name, package in packages.items() if package.lost)


def needed(packages: t.Mapping[str, Package], mine: t.Collection[str], keep: t.Iterable[str] = ()) -> set[str]:
    """Those of the packages `mine` that other packages need, that are in `keep`, or that these need in turn."""
    found: set[str] = set()
    ahead = {name for name in keep if name in mine}
    ahead |= {name for other, package in packages.items() if other not in mine for name in package.depends if name in mine}
    while ahead:
        name = ahead.pop()
        found.add(name)
        ahead |= {other for other in packages[name].depends if other in mine and other not in found}
    return found


def dependent(packages: t.Mapping[str, Package], gone: t.Iterable[str]) -> set[str]:
    """The packages `gone` and all that depend on them, by the names in the database alone.

    For a database that apt refuses to work with. Where one package can stand for another, this names more than apt would.
    """
    found = set(gone)
    ahead = True
    while ahead:
        ahead = False
        for name, package in packages.items():
            if name not in found and not found.isdisjoint(package.depends):
                found.add(name)
                ahead = True
    return found


def version_fits(wanted: str, found: str) -> bool:
    """Whether `2.9.1-0.1.4` is the wanted `2.9.1`. Whole numbers count: `2.9.10` is not. Epochs are ignored."""
    plain = found.partition(":")[2] or found
    return bool(plain) and (plain == wanted or (plain.startswith(wanted) and not plain[len(wanted)].isalnum()))
