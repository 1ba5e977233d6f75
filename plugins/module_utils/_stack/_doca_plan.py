# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What brings a node to a profile of DOCA-OFED, and what takes any vendor's stack away. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import DOCA as PROFILES
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import Step
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, changes_of
from ansible_collections.rdma.ofed.plugins.module_utils._stack._draft import (
    NEEDS,
    Draft,
    Found,
    Wanted,
    along,
    file_changes,
    mending,
    missing,
    package_change,
    package_changes,
    recovery,
    stack_change,
    stack_words,
    way_back,
)
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _packages as packages

if t.TYPE_CHECKING:
    from collections.abc import Sequence

FIRMWARE_PACKAGE = "mlnx-fw-updater"


def profile_of(wanted: Wanted) -> str:
    return wanted.packages or PROFILES[0]


def is_installed(wanted: Wanted, found: Found) -> bool:
    """Is the profile there in the wanted version, and whole?"""
    package = found.packages.get(profile_of(wanted))
    whole = not found.interrupted and not any(name in found.vendors for name in packages.broken(found.packages))
    return whole and package is not None and (not wanted.version or packages.version_fits(wanted.version, package.version))


def _changes(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    if is_installed(wanted, found):
        return ()
    profile = profile_of(wanted)
    after = ("doca %s" % wanted.version).strip()
    version_fits = found.stack.kind == "doca" and (not wanted.version or packages.version_fits(wanted.version, found.stack.version))
    stack = () if version_fits else changes_of(stack_change(stack_words(found.stack), after))
    present = found.packages.get(profile)
    has = "" if present is None else present.version
    changed = stack + changes_of(package_change(profile, has, wanted.version or has or "installed", NEEDS))
    return changed or (stack_change("%s, %s" % (after, found.interrupted or "half installed"), after),)


def plan_doca(wanted: Wanted, found: Found) -> Draft:
    """From a repository, through the metapackage of the profile."""
    files = file_changes(found, wanted.repository)
    changes = _changes(wanted, found)
    more = (FIRMWARE_PACKAGE,) if wanted.firmware_update and FIRMWARE_PACKAGE not in found.packages else ()
    also = (*more, *along(wanted, found, replacing=bool(changes)))
    changes += package_changes((*more, *missing(wanted, found)))
    if not changes:
        return Draft(files)
    mended, first = recovery(found, packages.broken(found.packages))
    steps: list[Step] = list(first)
    removes: tuple[str, ...] = ()
    simulate: tuple[tuple[str, ...], ...] = ()
    if found.stack.kind == "mlnx_ofed":
        # Versions of the two are numbered apart: what looks newer need not be.
        back, removes, simulate = way_back(found)
        steps += back
    steps += [Step("reading the package lists", found.manager.update_argv()), *mending(found)]
    argv = found.manager.install_argv((profile_of(wanted),), wanted.version, also)
    environment = (("RUN_FW_UPDATER", "yes" if wanted.firmware_update else "no"),)
    steps.append(Step(("installing DOCA-OFED %s" % wanted.version).strip(), argv, environment=environment))
    return Draft(files + mended + changes, tuple(steps), removes, simulate)


def plan_absent(found: Found, keep: Sequence[str] = ()) -> Draft:
    """Take the vendor's stack away, and the repository that an earlier run declared."""
    files = file_changes(found, None)
    left = [name for name in packages.broken(found.packages) if name in found.vendors]
    if not found.is_vendors and not left:
        return Draft(files)
    after = "inbox" if keep else ""
    changes = changes_of(stack_change(stack_words(found.stack), after)) if found.is_vendors else ()
    mended, first = recovery(found, packages.broken(found.packages))
    back, removes, simulate = way_back(found, keep)
    return Draft(files + mended + changes, (*first, *back), removes, simulate)
