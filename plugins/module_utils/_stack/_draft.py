# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What the planners of all stacks have in common: the wanted and the found state, and what a plan consists of. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import OperatingSystem
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import file_change
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import Step
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, changes_of
from ansible_collections.rdma.ofed.plugins.module_utils._stack._package_names import taken_by_installer, vendors
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _apt as apt
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _dpkg as dpkg
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _packages as packages
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _rpm as rpm
from ansible_collections.rdma.ofed.plugins.module_utils._tools._manager import Manager
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package
from ansible_collections.rdma.ofed.plugins.module_utils._tools._repository import Repository

NEEDS = "driver_reload"
USER_SPACE = "user-space-only"
UNINSTALLER = "/usr/sbin/ofed_uninstall.sh"
OFED_INFO = "/usr/bin/ofed_info"


class Wanted(t.NamedTuple):
    """The options of the module."""

    state: str = "present"
    source: str = "mlnx_ofed"
    version: str = ""
    method: str = "installer"
    packages: str = ""
    installer_options: tuple[str, ...] = ()
    repository: Repository | None = None
    allow_removal: tuple[str, ...] = ()
    firmware_update: bool = False
    keep: tuple[str, ...] = ()
    """Packages that stay in the distribution's version where the vendor's stack is removed."""
    distro: str = ""
    """The distribution that the installer is told, "" where it finds out by itself."""
    also: tuple[tuple[str, ...], ...] = ()
    """Packages to install along with the stack, each with others that do as well."""

    def selection(self) -> dict[str, t.Any]:
        """What can't be read from the node afterwards, and is kept on record."""
        return {
            "source": self.source,
            "version": self.version,
            "method": self.method,
            "packages": self.packages,
            "installer_options": list(self.installer_options),
        }


class Place(t.NamedTuple):
    """Where the bundle is, or will be unpacked."""

    tree: str
    """The folder with the installer in it."""
    prepare: str = ""
    """A folder that must be there, and empty, before it is unpacked; "" where it is unpacked already."""
    unpack: tuple[Step, ...] = ()
    clean: tuple[Step, ...] = ()
    """What removes it after success, and in any case unmounts it."""


class Found(t.NamedTuple):
    """The node."""

    os: OperatingSystem = OperatingSystem()
    stack: Stack = Stack("none")
    packages: t.Mapping[str, Package] = {}
    record: t.Mapping[str, t.Any] = {}
    """The selection of the last run that succeeded."""
    interrupted: str = ""
    """How the last job ended before its time, "" where it did not."""
    files: t.Mapping[str, str] = {}
    """Contents of the repository files."""
    uninstaller: bool = False
    """Is the vendor's uninstaller there?"""
    alternatives: t.Mapping[str, str] = {}
    """Versions that the distribution has of the vendor's packages that are installed."""

    @property
    def manager(self) -> Manager:
        """The package manager."""
        return (by_name(self.os.family) or FAMILIES[0]).manager

    @property
    def vendors(self) -> list[str]:
        """The vendor's packages that are installed, wholly or in part, and the stack's own that were left half installed."""
        left = taken_by_installer(packages.broken(self.packages))
        return sorted({*vendors(self.packages, self.stack.ofed_version), *left})

    @property
    def is_vendors(self) -> bool:
        """Is a vendor's stack there, or what an interrupted installation left of one?"""
        return self.stack.kind in ("mlnx_ofed", "doca")


class Draft(t.NamedTuple):
    """A plan before it is known what depends on the packages that go."""

    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    removes: tuple[str, ...] = ()
    """The packages that go by the plan, foreign ones not among them."""
    simulate: tuple[tuple[str, ...], ...] = ()
    """Processes that tell what goes with them, and change nothing."""
    replaced: bool = False
    """Does the installer remove packages by their names?"""
    needs_bundle: bool = False

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def replaces(self) -> bool:
        """Whether it is another stack afterwards, or the same one installed again."""
        return any(change.is_about(Kind.STACK, aspect="") for change in self.changes)


def stack_change(before: str, after: str, *, needs: str = NEEDS, aspect: str = "") -> Change:
    """A change of the stack itself, or of one aspect of it."""
    return Change(Kind.STACK, "", aspect, before, after, needs)


def package_change(name: str, before: str, after: str, needs: str = "") -> Change:
    """A package whose version changes, or that comes or goes."""
    return Change(Kind.PACKAGE, name, "", before, after, needs)


def stack_words(stack: Stack) -> str:
    """C(mlnx_ofed 23.10-0.5.5.0), "" for none."""
    return "" if stack.kind == "none" else ("%s %s" % (stack.kind, stack.version)).strip()


def _words(value: t.Any) -> str:
    return " ".join(str(item) for item in value) if isinstance(value, (list, tuple)) else str(value or "")


def selection_changes(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    """What of the selection differs from the record, for a stack whose version is right. Without a record, nothing does."""
    record = found.record
    if not record or record.get("source") != wanted.source or record.get("version") != wanted.version:
        return ()
    mine = wanted.selection()
    names = ("method", "packages", "installer_options")
    needs = "" if USER_SPACE == record.get("packages") == wanted.packages else NEEDS
    return changes_of(*(stack_change(_words(record.get(name)), _words(mine[name]), needs=needs, aspect=name) for name in names))


def missing(wanted: Wanted, found: Found) -> tuple[str, ...]:
    """The packages that are wanted along with the stack, and are not there."""
    return tuple(names[0] for names in wanted.also if not any(name in found.packages for name in names))


def along(wanted: Wanted, found: Found, replacing: bool) -> tuple[str, ...]:
    """What to install along with the stack. Where that is replaced, all of it: what is there is the former stack's."""
    return tuple(names[0] for names in wanted.also) if replacing else missing(wanted, found)


def package_changes(names: t.Iterable[str]) -> tuple[Change, ...]:
    """Packages to come."""
    return tuple(package_change(name, "", "installed") for name in names)


def file_changes(found: Found, repository: Repository | None) -> tuple[Change, ...]:
    """The repository files that have to be written or removed."""
    files = found.manager.files_of(repository)
    return changes_of(*(file_change(path, found.files.get(path, ""), content) for path, content in files.items()))


def recovery(found: Found, names: t.Sequence[str]) -> tuple[tuple[Change, ...], tuple[Step, ...]]:
    """End what an interrupted installation of the C(names) began, before anything else."""
    if not names and not found.interrupted:
        return (), ()
    changes = tuple(Change(Kind.PACKAGE, name, "state", found.packages[name].state, "installed") for name in names)
    stage = "ending the interrupted installation"
    lost = [name for name in packages.lost(found.packages) if name in found.vendors]
    drop = (Step(stage, dpkg.drop_argv(lost)),) if lost else ()
    # What can't be configured, because packages are missing that it needs, is settled by the installation that follows.
    return changes, (*drop, Step(stage, found.manager.recover_argv(), ok=(0, 1)))


def way_back(found: Found, keep: t.Sequence[str] = ()) -> tuple[tuple[Step, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Steps that take the vendor's stack away, the packages that go, and the simulation.

    On Debian, packages that others need, or that are to be kept, are brought to the distribution's version in the same
    transaction. The vendor's own uninstaller would remove those others. All packages can't be: the vendor cuts some of them
    otherwise, and two would claim the same file.
    """
    if found.manager.simulates:
        needed = packages.needed(found.packages, found.vendors, keep)
        stay = {name: version for name, version in found.alternatives.items() if name in needed}
        gone = [name for name in found.vendors if name not in stay]
        # The installer wrote these two itself.
        leftovers = Step("removing the former stack", ("rm", "-f", UNINSTALLER, OFED_INFO))
        if not gone and not stay:
            return (leftovers,), (), ()
        argv = found.manager.replace_argv(stay, gone)
        return (Step("removing the former stack", argv), leftovers), tuple(gone), (apt.simulate(argv),)
    test = (rpm.erase_test_argv(found.vendors),) if found.vendors else ()
    if found.uninstaller and found.stack.kind == "mlnx_ofed":
        return (Step("removing the former stack", (UNINSTALLER, "--force")),), tuple(found.vendors), test
    if not found.vendors:
        return (), (), ()
    return (Step("removing the former stack", found.manager.replace_argv({}, found.vendors)),), tuple(found.vendors), test


def mending(found: Found) -> tuple[Step, ...]:
    """What apt has to settle before it installs anything, once the package lists are read; the removal of a stack settles it too."""
    broken = found.manager.simulates and packages.broken(found.packages)
    return (Step("ending the interrupted installation", apt.mend_argv()),) if broken else ()
