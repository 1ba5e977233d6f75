# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The families of distributions, in the order in which messages name them, and what is installed of their packages."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._families import DEBIAN, RED_HAT, SUSE
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem, require_none

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Distribution, Family
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

FAMILIES: tuple[Family, ...] = (DEBIAN, RED_HAT, SUSE)
UNKNOWN = "Unknown"
# Recognised, but without packages that the collection knows.
_OTHERS: t.Mapping[str, str] = {"arch": "Arch"}

DISTRIBUTIONS: t.Mapping[str, Distribution] = {item.id: item for family in FAMILIES for item in family.distributions}
SUPPORTED = "; ".join(family.supported for family in FAMILIES if family.supported)
WITH_BUNDLES = "; ".join(family.with_bundles for family in FAMILIES if family.with_bundles)
NAMES = "%s and %s" % (", ".join(family.name for family in FAMILIES[:-1]), FAMILIES[-1].name)


def by_name(name: t.Any) -> Family | None:
    """The family of a name as `ansible_facts.rdma.os.family` has it; None where it is not registered."""
    return next((family for family in FAMILIES if family.name == name), None)


def family_name(os_id: str, id_like: str = "") -> str:
    """The name of the family by `ID` of os-release, then by `ID_LIKE` from left to right; also of distributions that are only recognised."""
    known = {**_OTHERS, **{item.id: family.name for family in FAMILIES for item in family.distributions}}
    return next((known[word.lower()] for word in [os_id, *id_like.split()] if word.lower() in known), UNKNOWN)


def known_packages() -> frozenset[str]:
    """The names of all packages that a family knows, for any purpose."""
    return frozenset(name for family in FAMILIES for names in family.packages.values() for name in names)


def packages_by_family(purpose: str) -> str:
    """In words, the packages for a purpose by family: `iproute2 on Debian and Ubuntu, iproute on Red Hat`."""
    return ", ".join("%s on %s" % (" ".join(family.packages[purpose]), family.title) for family in FAMILIES if family.packages[purpose])


def names_of(family: Family, purposes: t.Sequence[str], names: t.Iterable[str] = ()) -> list[str]:
    """The packages for the purposes, and `names`, each once. Raises InvalidInput for an unknown purpose."""
    known = family.packages
    require_none([Problem("purposes[%d]" % index, each, ", ".join(sorted(known))) for index, each in enumerate(purposes) if each not in known])
    return list(dict.fromkeys([*family.names(purposes), *names]))


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
