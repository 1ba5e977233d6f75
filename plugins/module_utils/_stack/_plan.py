# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the steps from the found to the wanted stack: with the installer of MLNX_OFED, from a repository, or back to no stack. Pure."""

from __future__ import annotations

import typing as t

from .._host._job_runner import NOT_STARTED
from .._host._step import Step, script_argv
from .._plan import Change, Kind
from .._tools import _apt as apt
from .._tools import _packages as packages
from .._tools import _rpm as rpm
from . import _changes
from ._bundle import INSTALLER, Place
from ._found import Found
from ._installer_options import Installer, names_of, options_argv, set_argv
from ._package_names import taken_by_installer
from ._wanted import Wanted

CHECK_STAGE = "checking the bundle"
OPTIONS_STAGE = "checking the options"
INSTALL_STAGE = "installing MLNX_OFED"
BUILD_STAGE = "building and installing MLNX_OFED"
LISTS_STAGE = "reading the package lists"
_MEND_STAGE = "ending the interrupted installation"
_REMOVE_STAGE = "removing the former stack"

# Leftovers of packages: two files written by the installer itself, boot links to deleted scripts, and systemd's memory of failed services.
# On a node without systemd, or where no service failed, there is nothing to reset.
_SCRIPTS = ("(", "-name", "[KS][0-9][0-9]openibd", "-o", "-name", "[KS][0-9][0-9]opensmd", "-o", "-name", "[KS][0-9][0-9]mst", ")")
_LEFTOVERS = (
    Step(_REMOVE_STAGE, ("rm", "-f", "/usr/sbin/ofed_uninstall.sh", "/usr/bin/ofed_info")),
    Step(_REMOVE_STAGE, ("find", "-H", "/etc", "-maxdepth", "3", "-path", "/etc/rc*.d/*", *_SCRIPTS, "-xtype", "l", "-delete"), ok=(0, 1, NOT_STARTED)),
    Step(_REMOVE_STAGE, ("systemctl", "reset-failed", "ibacm.service", "openibd.service", "opensmd.service"), ok=(0, 1, 5, NOT_STARTED)),
)
# Uses that an unload of the driver would cut and new packages would not: network traffic, including that of an Ethernet management port.
_OF_THE_NETWORK = ("connection", "link", "namespace", "vf")

Argv = t.Tuple[str, ...]


class StackPlan(t.NamedTuple):
    """A plan before it is known what depends on the packages to be removed."""

    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    """The steps of the job; empty where only files are written."""
    removes: tuple[str, ...] = ()
    """The packages that the plan removes, without foreign packages that depend on them."""
    simulate: tuple[Argv, ...] = ()
    """Commands that simulate what is removed along with them, and change nothing."""
    by_installer: bool = False
    """Whether it runs the installer of a bundle, which removes packages by name."""

    def __bool__(self) -> bool:
        return bool(self.changes)

    def about(self, kind: Kind) -> tuple[Change, ...]:
        """The changes of one kind, in order."""
        return tuple(change for change in self.changes if change.is_about(kind))


def _recovery(found: Found, names: t.Collection[str]) -> tuple[Step, ...]:
    """Complete what an interrupted installation of the `names` started, before anything else."""
    if not names and not found.interrupted:
        return ()
    lost = [name for name in packages.lost(found.packages) if name in found.vendors]
    drop = (Step(_MEND_STAGE, apt.drop_argv(lost)),) if lost else ()
    # Packages that can't be configured because of missing dependencies are settled by the installation that follows.
    return (*drop, Step(_MEND_STAGE, found.manager.recover, ok=(0, 1)))


def _removal(found: Found, keep: t.Sequence[str] = ()) -> StackPlan:
    """The removal of the vendor's stack, without the changes that describe it.

    Packages that others need, or that are to be kept, are changed to the distribution's version in the same transaction. The
    vendor's own uninstaller would remove those others. On Debian, this is not possible for all packages: the vendor splits some of them
    differently, and two would own the same file. The rpm database does not tell what other packages need, so there every package
    that the distribution offers is kept.
    """
    mine = found.vendors
    needed = packages.needed(found.packages, mine, keep) if found.manager.simulates else mine
    stay = {name: version for name, version in found.alternatives.items() if name in needed}
    gone = [name for name in mine if name not in stay]
    if not gone and not stay:
        return StackPlan(steps=_LEFTOVERS)
    argv = found.manager.replace_argv(stay, gone)
    return StackPlan((), (Step(_REMOVE_STAGE, argv), *_LEFTOVERS), tuple(gone), (found.manager.preview_argv(argv, lifted=found.protected),))


def _former(wanted: Wanted, found: Found) -> StackPlan:
    """Remove a stack of the other kind first: the two have independent version numbers, so a higher number does not mean a newer package."""
    return _removal(found) if found.is_vendors and found.stack.kind != wanted.source else StackPlan()


def _replacement(wanted: Wanted, found: Found, more: t.Sequence[str], *, stays: bool) -> tuple[StackPlan, Argv]:
    """Replace the former stack in one transaction of an RPM package manager. Returns what is removed, and the command line.

    Packages that the repository offers are taken from there, whatever their versions: versions of distribution and vendor can't be
    compared, and a metapackage does not name them. If the stack `stays`, packages of its own release are added, which is no
    upgrade: a newer release in the repository needs consent.
    """
    address = wanted.repository.address if wanted.repository else ""
    replaced = found.is_vendors and found.stack.kind != wanted.source
    gone = [name for name in found.vendors if name not in found.alternatives] if replaced else []
    release = wanted.version or (found.stack.version if stays else "")
    also = found.manager.install_words(wanted.metapackage, release, more)
    versions = {} if stays else {name: version for name, version in found.alternatives.items() if name not in (wanted.metapackage, *more)}
    argv = found.manager.replace_argv(versions, gone, also=also, repository=address)
    preview = found.manager.preview_argv(argv, address, lifted=found.protected, folders=found.folders)
    return StackPlan(removes=tuple(gone), simulate=(preview,)), argv


def installer_argv(wanted: Wanted, tree: str, force: bool) -> Argv:
    """The installer's command line. With `-q` it asks nothing and still stops at foreign packages; `--force` removes them."""
    firmware = () if wanted.firmware_update or "--without-fw-update" in wanted.installer_options else ("--without-fw-update",)
    distro = ("--distro", wanted.distro) if wanted.distro else ()
    options = (*set_argv(wanted.packages), *options_argv(wanted.installer_options), *distro, *firmware)
    return ("%s/%s" % (tree, INSTALLER), *options, "--force" if force else "-q")


def checking(version: str, place: Place) -> Step:
    """Compare the release of the bundle with that in its name."""
    return Step(CHECK_STAGE, ("grep", "--quiet", "--fixed-strings", "--line-regexp", "--", version, place.tree + "/.mlnx"))


def _asking(wanted: Wanted, found: Found, place: Place) -> tuple[Step, ...]:
    """Query the unpacked installer for options that the tables do not list."""
    unsure = Installer(wanted.version, found.manager.packaging).doubts(wanted.installer_options, wanted.packages) if place.unpack else []
    return (Step(OPTIONS_STAGE, script_argv("installer_run.py", "help", "%s/%s" % (place.tree, INSTALLER), *unsure)),) if unsure else ()


def _distribution_steps(found: Found, names: t.Sequence[str]) -> tuple[Step, ...]:
    """Install the distribution packages that upper-layer protocols need, after the vendor's packages."""
    if not names:
        return ()
    read = (Step(LISTS_STAGE, found.manager.update),) if found.manager.lists_age else ()
    return (*read, Step("installing the packages of upper-layer protocols", found.manager.install_argv(names)))


def _plan_installer(wanted: Wanted, found: Found, *, place: Place, force: bool) -> StackPlan:
    """Plan with the installer of a bundle."""
    changes, files, lacking = _changes.stack_changes(wanted, found), _changes.repository_changes(wanted, found), _changes.missing(wanted, found)
    if not changes:
        # A run that changes nothing else leaves half-installed foreign packages alone.
        return StackPlan(files + _changes.additions(lacking), _distribution_steps(found, lacking))
    broken = packages.broken(found.packages)
    # The installer treats the metapackages of DOCA as foreign packages that depend on its own.
    former = _former(wanted, found)
    taken = sorted(taken_by_installer({*found.packages} - {*former.removes}))
    test = apt.simulate(apt.purge_argv(taken)) if found.manager.simulates else rpm.erase_test_argv(taken)
    builds = bool({"--add-kernel-support", "--auto-add-kernel-support"} & names_of(wanted.installer_options))
    stage = "%s %s" % (BUILD_STAGE if builds else INSTALL_STAGE, wanted.version)
    # The removals are known and allowed by now. The DEB installer would stop at the distribution's libopensm9, and old releases at
    # every package that dpkg names with its architecture: librdmacm1:amd64 depends on libibverbs1.
    argv = installer_argv(wanted, place.tree, force or (found.manager.simulates and bool(taken)))
    if not found.manager.simulates:
        # The DEB installer itself installs the distribution packages that it lacks.
        argv = script_argv("installer_run.py", "run", *found.manager.add, "--", *argv)
    return StackPlan(
        files + _changes.repair_changes(found, broken) + changes + _changes.additions(lacking),
        (
            # An unavailable or different bundle ends the job before the first change.
            *place.unpack,
            checking(wanted.version, place),
            *_asking(wanted, found, place),
            *_recovery(found, broken),
            *former.steps,
            Step(stage, argv, directory=place.tree),
            *_distribution_steps(found, lacking),
            *place.clean,
        ),
        former.removes,
        (*former.simulate, test) if taken else former.simulate,
        by_installer=True,
    )


def _plan_repository(wanted: Wanted, found: Found) -> StackPlan:
    """Plan with a repository, through the metapackage of the set or profile."""
    files, changes, lacking = _changes.repository_changes(wanted, found), _changes.stack_changes(wanted, found), _changes.missing(wanted, found)
    # If the stack is replaced, so are the packages that come with it: those present belong to the former stack.
    along = tuple(names[0] for names in wanted.also) if changes else lacking
    firmware = (_changes.FIRMWARE_PACKAGE,) if wanted.firmware_update and _changes.FIRMWARE_PACKAGE not in found.packages else ()
    stays = wanted.source == "doca" == found.stack.kind and not any(change.is_about(Kind.STACK) for change in changes)
    changes += _changes.additions((*firmware, *lacking))
    if not changes:
        return StackPlan(files)
    broken = packages.broken(found.packages)
    stage = "installing DOCA-OFED" if wanted.source == "doca" else INSTALL_STAGE
    if found.manager.simulates:
        former = _former(wanted, found)
        # Without a version, the metapackage of a newer release would upgrade all other packages.
        names = () if stays and not wanted.version else (wanted.metapackage,)
        argv = found.manager.install_argv(names, wanted.version, (*firmware, *along))
    else:
        former, argv = _replacement(wanted, found, (*firmware, *along), stays=stays)
    # The updater's package burns firmware during its installation, unless it is told not to.
    environment = (("RUN_FW_UPDATER", "yes" if wanted.firmware_update else "no"),)
    install = Step(("%s %s" % (stage, wanted.version)).strip(), argv, environment=environment)
    trust = found.manager.trust_argv(wanted.repository) if wanted.repository else ()
    lists = (*([Step(LISTS_STAGE, trust)] if trust else []), Step(LISTS_STAGE, found.manager.update))
    # apt requires this before it installs anything. The removal of a stack has the same effect.
    mend = (Step(_MEND_STAGE, apt.MEND),) if broken and found.manager.simulates else ()
    steps = (*_recovery(found, broken), *former.steps, *lists, *mend, install)
    return StackPlan(files + _changes.repair_changes(found, broken) + changes, steps, former.removes, former.simulate)


def _plan_absent(wanted: Wanted, found: Found) -> StackPlan:
    """Remove the vendor's stack, and the repository that an earlier run declared."""
    files = _changes.repository_changes(wanted, found)
    if not found.is_vendors and not found.broken:
        return StackPlan(files)
    broken, removal = packages.broken(found.packages), _removal(found, wanted.keep)
    changes = files + _changes.repair_changes(found, broken) + _changes.removal_changes(wanted, found)
    return StackPlan(changes, (*_recovery(found, broken), *removal.steps), removal.removes, removal.simulate)


def plan(wanted: Wanted, found: Found, *, place: Place | None = None, force: bool = False) -> StackPlan:
    """What has to be done. `place`: that of the bundle, once known. With `force`, foreign packages may be removed, and are known."""
    if wanted.state == "absent":
        todo = _plan_absent(wanted, found)
    elif wanted.source == "doca" or wanted.method == "repository":
        todo = _plan_repository(wanted, found)
    else:
        todo = _plan_installer(wanted, found, place=place or Place(""), force=force)
    # A job renews the protection at its end, and lifts it first if the stack changes.
    if not _changes.protects(wanted, found):
        return todo._replace(changes=_changes.lift(found) + todo.changes)
    if not todo.steps:
        return todo._replace(changes=_changes.protect(found) + todo.changes)
    return todo._replace(changes=todo.changes + _changes.to_come(wanted, found))


def needs_source(wanted: Wanted, todo: StackPlan) -> bool:
    """Whether packages come from the bundle or the repository. Those of the distribution that are added to a bundle's do not."""
    return wanted.state == "present" and (todo.by_installer or (wanted.method == "repository" and bool(todo.steps)))


def needs_consent(wanted: Wanted, found: Found, todo: StackPlan) -> bool:
    """Whether the plan needs consent if the stack that it replaces is in use.

    An interrupted job had consent, if it needed any, so the same job may be completed.
    """
    return bool(todo.about(Kind.STACK)) and not wanted.allow_upgrade and not (found.interrupted and found.begun == wanted.purpose())


def in_use(wanted: Wanted, found: Found) -> tuple[str, ...]:
    """Why the stack of the node is in use, in words; empty where it is not.

    A complete vendor stack counts as in use. So does one that only the output of `ofed_info` shows as incomplete, because it may be complete: that of
    a DOCA-OFED without its profile looks the same. Any other stack is in use if RDMA itself has users. Network traffic does not count: it
    prevents a reload of the driver, but not the installation of packages.
    """
    if found.is_vendors and found.is_whole:
        return ("%s is installed" % found.stack.words,)
    if found.is_vendors and not found.is_surely_half and not _changes.same_release(wanted, found):
        return ("%s, or another stack that ofed_info calls the same, is installed" % found.stack.words,)
    names = sorted({"%s %s" % (user.kind, user.name) for user in found.users if user.kind not in _OF_THE_NETWORK})
    return ("in use by %s" % ", ".join(names),) if names else ()
