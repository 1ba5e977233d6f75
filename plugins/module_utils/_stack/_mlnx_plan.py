# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What brings a node to a release of MLNX_OFED, by its installer or from a repository. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._job import Step
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, changes_of
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import INSTALLER, same_version
from ansible_collections.rdma.ofed.plugins.module_utils._stack._draft import (
    NEEDS,
    USER_SPACE,
    Draft,
    Found,
    Place,
    Wanted,
    along,
    file_changes,
    mending,
    missing,
    package_change,
    package_changes,
    recovery,
    selection_changes,
    stack_change,
    stack_words,
    way_back,
)
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_options import names_of, options_argv, set_argv
from ansible_collections.rdma.ofed.plugins.module_utils._stack._package_names import taken_by_installer
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _apt as apt
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _packages as packages
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _rpm as rpm

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._manager import Manager

FIRMWARE_PACKAGE = "mlnx-fw-updater"
CHECK_STAGE = "checking the bundle"
INSTALL_STAGE = "installing MLNX_OFED"
BUILD_STAGE = "building and installing MLNX_OFED"
# The metapackages that a repository has; of guest and hypervisor there are none on DEB systems.
_METAPACKAGES: t.Mapping[str, str] = {
    "all": "mlnx-ofed-all",
    "basic": "mlnx-ofed-basic",
    "bluefield": "mlnx-ofed-bluefield",
    "dpdk": "mlnx-ofed-dpdk",
    "eth-only": "mlnx-ofed-eth-only",
    "guest": "mlnx-ofed-guest",
    "hpc": "mlnx-ofed-hpc",
    "hypervisor": "mlnx-ofed-hypervisor",
    "kernel-only": "mlnx-ofed-kernel-only",
    USER_SPACE: "mlnx-ofed-all-user-only",
    "vma": "mlnx-ofed-vma",
    "vma-eth": "mlnx-ofed-vma-eth",
    "vma-vpi": "mlnx-ofed-vma-vpi",
}
_RPM_ONLY = ("guest", "hypervisor")


def metapackages(family: str) -> list[str]:
    """The sets of packages that are to be had from a repository. C(family) is C(deb), C(rpm) or "" where it is not known."""
    return sorted(name for name in _METAPACKAGES if family != "deb" or name not in _RPM_ONLY)


def metapackage(packages_set: str) -> str:
    """C(user-space-only) -> C(mlnx-ofed-all-user-only)."""
    return _METAPACKAGES[packages_set]


def repository_pins(wanted: Wanted) -> tuple[str, ...]:
    """The packages whose version is that of the release."""
    return ("mlnx-ofed-*",) if wanted.version else ()


def installer_argv(wanted: Wanted, tree: str, force: bool) -> tuple[str, ...]:
    """The installer's command line. C(-q) asks nothing and still stops at foreign packages, C(--force) removes them."""
    firmware = () if wanted.firmware_update or "--without-fw-update" in wanted.installer_options else ("--without-fw-update",)
    distro = ("--distro", wanted.distro) if wanted.distro else ()
    options = (*set_argv(wanted.packages), *options_argv(wanted.installer_options), *distro, *firmware)
    return ("%s/%s" % (tree, INSTALLER), *options, "--force" if force else "-q")


def checking(version: str, place: Place) -> Step:
    """Is it the release that its name says?"""
    return Step(CHECK_STAGE, ("grep", "--quiet", "--fixed-strings", "--line-regexp", "--", version, place.tree + "/.mlnx"))


def is_installed(wanted: Wanted, found: Found) -> bool:
    """Is this release there, and whole?"""
    if found.stack.kind != "mlnx_ofed" or found.interrupted:
        return False
    if any(name in found.vendors for name in packages.broken(found.packages)):
        return False
    if wanted.method == "repository":
        package = found.packages.get(metapackage(wanted.packages))
        return package is not None and (not wanted.version or packages.version_fits(wanted.version, package.version))
    return same_version(wanted.version, found.stack.ofed_version)


def _changes(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    after = ("mlnx_ofed %s" % wanted.version).strip()
    needs = "" if wanted.packages == USER_SPACE else NEEDS
    # Packages spell a release without its last number.
    same = found.stack.kind == "mlnx_ofed" and same_version(wanted.version, found.stack.ofed_version)
    stack = () if same else changes_of(stack_change(stack_words(found.stack), after, needs=needs))
    selection = selection_changes(wanted, found)
    if stack or selection:
        return stack + selection
    if is_installed(wanted, found):
        return ()
    if wanted.method == "repository" and not found.interrupted:
        return (package_change(metapackage(wanted.packages), "", wanted.version or "installed", needs),)
    return (stack_change("%s, %s" % (after, found.interrupted or "half installed"), after, needs=needs),)


def _broken(found: Found, changes: t.Collection[Change]) -> list[str]:
    """What must be configured first. Strangers' packages are no business of a run that changes nothing else."""
    names = packages.broken(found.packages)
    return names if changes else [name for name in names if name in found.vendors]


def _distribution_steps(manager: Manager, names: t.Sequence[str]) -> tuple[Step, ...]:
    """What upper-layer protocols need of the distribution, once the vendor's packages are there."""
    if not names:
        return ()
    read = (Step("reading the package lists", manager.update_argv()),) if manager.lists_age else ()
    return (*read, Step("installing the packages of upper-layer protocols", manager.install_argv(names)))


def plan_installer(wanted: Wanted, found: Found, place: Place, force: bool = False) -> Draft:
    """By the installer of a bundle. C(force): foreign packages may go, and are known."""
    changes = () if is_installed(wanted, found) and not selection_changes(wanted, found) else _changes(wanted, found)
    files = file_changes(found, None)
    lacking = missing(wanted, found)
    if not changes and lacking:
        return Draft(files + package_changes(lacking), _distribution_steps(found.manager, lacking))
    mended, first = recovery(found, _broken(found, changes)) if changes else ((), ())
    if not changes:
        return Draft(files)
    # A bundle that can't be had, or is another one, is found out before anything is touched.
    steps: list[Step] = [*place.unpack, checking(wanted.version, place), *first]
    removes: tuple[str, ...] = ()
    simulate: tuple[tuple[str, ...], ...] = ()
    remaining = set(found.packages)
    if found.stack.kind == "doca":
        # The installer takes the metapackages of DOCA for strangers that depend on its own.
        back, removes, simulate = way_back(found)
        steps += back
        remaining -= set(removes)
    taken = sorted(taken_by_installer(remaining))
    if taken and found.manager.simulates:
        simulate = (*simulate, apt.simulate(apt.purge_argv(taken)))
    elif taken:
        simulate = (*simulate, rpm.erase_test_argv(taken))
    builds = bool({"--add-kernel-support", "--auto-add-kernel-support"} & names_of(wanted.installer_options))
    stage = "%s %s" % (BUILD_STAGE if builds else INSTALL_STAGE, wanted.version)
    # What goes has been looked at and agreed to. The installer for Debian would stop at the distribution's libopensm9, and
    # in old releases at all that dpkg names with its architecture: librdmacm1:amd64 depends on libibverbs1.
    force = force or (found.manager.simulates and bool(taken))
    steps.append(Step(stage, installer_argv(wanted, place.tree, force), directory=place.tree))
    steps += _distribution_steps(found.manager, lacking)
    steps += place.clean
    return Draft(files + mended + changes + package_changes(lacking), tuple(steps), removes, simulate, replaced=True, needs_bundle=True)


def plan_repository(wanted: Wanted, found: Found) -> Draft:
    """From a repository, through the metapackage of the set."""
    files = file_changes(found, wanted.repository)
    changes = () if is_installed(wanted, found) and not selection_changes(wanted, found) else _changes(wanted, found)
    more = (FIRMWARE_PACKAGE,) if wanted.firmware_update and FIRMWARE_PACKAGE not in found.packages else ()
    also = (*more, *along(wanted, found, replacing=bool(changes)))
    changes += package_changes((*more, *missing(wanted, found)))
    if not changes:
        return Draft(files)
    mended, first = recovery(found, _broken(found, changes))
    steps: list[Step] = list(first)
    removes: tuple[str, ...] = ()
    simulate: tuple[tuple[str, ...], ...] = ()
    if found.stack.kind == "doca":
        back, removes, simulate = way_back(found)
        steps += back
    steps += [Step("reading the package lists", found.manager.update_argv()), *mending(found)]
    argv = found.manager.install_argv((metapackage(wanted.packages),), wanted.version, also)
    # Firmware is burned by the updater's package as it is installed, unless it is told not to.
    environment = (("RUN_FW_UPDATER", "yes" if wanted.firmware_update else "no"),)
    steps.append(Step(("%s %s" % (INSTALL_STAGE, wanted.version)).strip(), argv, environment=environment))
    return Draft(files + mended + changes, tuple(steps), removes, simulate)
