# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which packages are installed, and which have to be installed or removed."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, known_packages
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Problem

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Family
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def names_of(family: Family, purposes: t.Sequence[str], names: t.Iterable[str] = ()) -> list[str]:
    """The packages for the purposes, and `names`, each once. Raises InvalidInput for an unknown purpose."""
    wrong = [
        Problem("purposes[%d]" % index, purpose, ", ".join(sorted(family.packages))) for index, purpose in enumerate(purposes) if purpose not in family.packages
    ]
    if wrong:
        raise InvalidInput(wrong)
    return list(dict.fromkeys([*family.names(purposes), *names]))


def due(names: t.Sequence[str], state: str, installed: t.Mapping[str, str] | None) -> list[str]:
    """The packages to hand to the package manager; none where all are as they shall be.

    `installed` has the versions of the installed packages, as far as a family knows them; None where nothing is known. A
    name that is in neither, or that has a version in it, is left to the package manager.
    """
    if installed is None:
        return list(names)
    if state == "present":
        return [] if all(name in installed for name in names) else list(names)
    known = known_packages()
    return [name for name in names if name in installed or name not in known]


def installed_packages(run: Runner, family: Family | None, names: t.Iterable[str] = (), *, root: str = "/") -> dict[str, str]:
    """Versions of the installed packages among `names` and those that any family knows; no process where dpkg keeps the database, else one.

    The family of the node decides which database counts: both a dpkg on an RPM system and an rpm on a Debian exist as tools for
    containers. On a node of no known family it is the first database that has one of the packages.
    """
    wanted = {name for name in {*known_packages(), *names} if name and "*" not in name}
    for each in FAMILIES if family is None else (family,):
        found = each.manager.database(run, root, names=wanted)
        if found:
            return {name: package.version for name, package in found.items() if package.state == "installed"}
    return {}
