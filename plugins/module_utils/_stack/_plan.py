# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps from the found to the wanted stack: by the installer of MLNX_OFED, from a repository, or back to none. Pure."""

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

# What packages leave behind: two files that the installer wrote itself, boot links to scripts that have gone, and the memory of
# systemd of services that failed. A node without systemd, or where they did not fail, has nothing to forget.
_SCRIPTS = ("(", "-name", "[KS][0-9][0-9]openibd", "-o", "-name", "[KS][0-9][0-9]opensmd", "-o", "-name", "[KS][0-9][0-9]mst", ")")
_LEFTOVERS = (
    Step(_REMOVE_STAGE, ("rm", "-f", "/usr/sbin/ofed_uninstall.sh", "/usr/bin/ofed_info")),
    Step(_REMOVE_STAGE, ("find", "-H", "/etc", "-maxdepth", "3", "-path", "/etc/rc*.d/*", *_SCRIPTS, "-xtype", "l", "-delete"), ok=(0, 1, NOT_STARTED)),
    Step(_REMOVE_STAGE, ("systemctl", "reset-failed", "ibacm.service", "openibd.service", "opensmd.service"), ok=(0, 1, 5, NOT_STARTED)),
)
# What an unload of the driver would cut, and new packages would not: traffic of the network, also over an Ethernet port for management.
_OF_THE_NETWORK = ("connection", "link", "namespace", "vf")

Argv = t.Tuple[str, ...]


class StackPlan(t.NamedTuple):
    """A plan before it is known what depends on the packages that go."""

    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    """The job; empty where only files are written."""
    removes: tuple[str, ...] = ()
    """The packages that the plan removes, without those of others that depend on them."""
    simulate: tuple[Argv, ...] = ()
    """Processes that tell what goes with them, and change nothing."""
    by_installer: bool = False
    """Whether it takes the installer of a bundle, which removes packages by their names."""

    def __bool__(self) -> bool:
        return bool(self.changes)

    def about(self, kind: Kind) -> tuple[Change, ...]:
        """The changes of one kind, in order."""
        return tuple(change for change in self.changes if change.is_about(kind))


def _recovery(found: Found, names: t.Collection[str]) -> tuple[Step, ...]:
    """End what an interrupted installation of the `names` began, before anything else."""
    if not names and not found.interrupted:
        return ()
    lost = [name for name in packages.lost(found.packages) if name in found.vendors]
    drop = (Step(_MEND_STAGE, apt.drop_argv(lost)),) if lost else ()
    # What can't be configured, because packages are missing that it needs, is settled by the installation that follows.
    return (*drop, Step(_MEND_STAGE, found.manager.recover, ok=(0, 1)))


def _removal(found: Found, keep: t.Sequence[str] = ()) -> StackPlan:
    """How the vendor's stack goes, without the changes that tell it.

    Packages that others need, or that are to be kept, are brought to the distribution's version in the same transaction. The
    vendor's own uninstaller would remove those others. On Debian, not all packages can be: the vendor cuts some of them
    otherwise, and two would claim the same file. The rpm database does not tell what others need, so there every package stays
    that the distribution has as well.
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
    """Take the stack of the other kind away first: the versions of the two are numbered apart, so what looks newer need not be."""
    return _removal(found) if found.is_vendors and found.stack.kind != wanted.source else StackPlan()


def _replacement(wanted: Wanted, found: Found, more: t.Sequence[str], *, stays: bool) -> tuple[StackPlan, Argv]:
    """Former stack and declared one in one transaction of a manager of rpm packages: what goes, and the command line.

    Packages that the repository has, too, come from there, whatever their numbers: versions of distribution and vendor can't be
    compared, and a metapackage does not name them. Where the stack `stays`, packages are added to its own release, which is no
    upgrade: a newer one in the repository waits for consent.
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
    """The installer's command line. `-q` asks nothing and still stops at foreign packages, `--force` removes them."""
    firmware = () if wanted.firmware_update or "--without-fw-update" in wanted.installer_options else ("--without-fw-update",)
    distro = ("--distro", wanted.distro) if wanted.distro else ()
    options = (*set_argv(wanted.packages), *options_argv(wanted.installer_options), *distro, *firmware)
    return ("%s/%s" % (tree, INSTALLER), *options, "--force" if force else "-q")


def checking(version: str, place: Place) -> Step:
    """Compare the release in the bundle with the one in its name."""
    return Step(CHECK_STAGE, ("grep", "--quiet", "--fixed-strings", "--line-regexp", "--", version, place.tree + "/.mlnx"))


def _asking(wanted: Wanted, found: Found, place: Place) -> tuple[Step, ...]:
    """Ask the installer about options that the tables do not know, once it is unpacked."""
    unsure = Installer(wanted.version, found.manager.packaging).doubts(wanted.installer_options, wanted.packages) if place.unpack else []
    return (Step(OPTIONS_STAGE, script_argv("installer_run.py", "help", "%s/%s" % (place.tree, INSTALLER), *unsure)),) if unsure else ()


def _distribution_steps(found: Found, names: t.Sequence[str]) -> tuple[Step, ...]:
    """What upper-layer protocols need of the distribution, once the vendor's packages are installed."""
    if not names:
        return ()
    read = (Step(LISTS_STAGE, found.manager.update),) if found.manager.lists_age else ()
    return (*read, Step("installing the packages of upper-layer protocols", found.manager.install_argv(names)))


def _plan_installer(wanted: Wanted, found: Found, *, place: Place, force: bool) -> StackPlan:
    """By the installer of a bundle."""
    changes, files, lacking = _changes.stack_changes(wanted, found), _changes.repository_changes(wanted, found), _changes.missing(wanted, found)
    if not changes:
        # Half installed packages of others are left alone by a run that changes nothing else.
        return StackPlan(files + _changes.additions(lacking), _distribution_steps(found, lacking))
    broken = packages.broken(found.packages)
    # The installer treats the metapackages of DOCA as foreign ones that depend on its own.
    former = _former(wanted, found)
    taken = sorted(taken_by_installer({*found.packages} - {*former.removes}))
    test = apt.simulate(apt.purge_argv(taken)) if found.manager.simulates else rpm.erase_test_argv(taken)
    builds = bool({"--add-kernel-support", "--auto-add-kernel-support"} & names_of(wanted.installer_options))
    stage = "%s %s" % (BUILD_STAGE if builds else INSTALL_STAGE, wanted.version)
    # The removals are known and allowed by now. The installer for Debian would stop at the distribution's libopensm9, and
    # in old releases at all that dpkg names with its architecture: librdmacm1:amd64 depends on libibverbs1.
    argv = installer_argv(wanted, place.tree, force or (found.manager.simulates and bool(taken)))
    if not found.manager.simulates:
        # The installer for DEB installs what it lacks of the distribution itself.
        argv = script_argv("installer_run.py", "run", *found.manager.add, "--", *argv)
    return StackPlan(
        files + _changes.repair_changes(found, broken) + changes + _changes.additions(lacking),
        (
            # A bundle that is not available, or another one, ends the job before the first change.
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
    """From a repository, through the metapackage of the set or profile."""
    files, changes, lacking = _changes.repository_changes(wanted, found), _changes.stack_changes(wanted, found), _changes.missing(wanted, found)
    # Where the stack is replaced, so is all that comes along: what is there belongs to the former one.
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
        # Named without a version, the metapackage of a newer release would take all others along.
        names = () if stays and not wanted.version else (wanted.metapackage,)
        argv = found.manager.install_argv(names, wanted.version, (*firmware, *along))
    else:
        former, argv = _replacement(wanted, found, (*firmware, *along), stays=stays)
    # Firmware is burned by the updater's package as it is installed, unless it is told not to.
    environment = (("RUN_FW_UPDATER", "yes" if wanted.firmware_update else "no"),)
    install = Step(("%s %s" % (stage, wanted.version)).strip(), argv, environment=environment)
    trust = found.manager.trust_argv(wanted.repository) if wanted.repository else ()
    lists = (*([Step(LISTS_STAGE, trust)] if trust else []), Step(LISTS_STAGE, found.manager.update))
    # apt has that to settle before it installs anything. The removal of a stack settles it, too.
    mend = (Step(_MEND_STAGE, apt.MEND),) if broken and found.manager.simulates else ()
    steps = (*_recovery(found, broken), *former.steps, *lists, *mend, install)
    return StackPlan(files + _changes.repair_changes(found, broken) + changes, steps, former.removes, former.simulate)


def _plan_absent(wanted: Wanted, found: Found) -> StackPlan:
    """Take the vendor's stack away, and the repository that an earlier run declared."""
    files = _changes.repository_changes(wanted, found)
    if not found.is_vendors and not found.broken:
        return StackPlan(files)
    broken, removal = packages.broken(found.packages), _removal(found, wanted.keep)
    changes = files + _changes.repair_changes(found, broken) + _changes.removal_changes(wanted, found)
    return StackPlan(changes, (*_recovery(found, broken), *removal.steps), removal.removes, removal.simulate)


def plan(wanted: Wanted, found: Found, *, place: Place | None = None, force: bool = False) -> StackPlan:
    """What has to be done. `place` is that of the bundle, once it is known; with `force`, foreign packages may go, and are known."""
    if wanted.state == "absent":
        todo = _plan_absent(wanted, found)
    elif wanted.source == "doca" or wanted.method == "repository":
        todo = _plan_repository(wanted, found)
    else:
        todo = _plan_installer(wanted, found, place=place or Place(""), force=force)
    # A job renews the protection at its end, and where the stack changes lifts it first.
    if not _changes.protects(wanted, found):
        return todo._replace(changes=_changes.lift(found) + todo.changes)
    if not todo.steps:
        return todo._replace(changes=_changes.protect(found) + todo.changes)
    return todo._replace(changes=todo.changes + _changes.to_come(wanted, found))


def needs_consent(wanted: Wanted, found: Found, todo: StackPlan) -> bool:
    """Whether the plan takes consent if the stack that it replaces is in use.

    A job that was interrupted had consent, if it took any: the same job may be completed.
    """
    return bool(todo.about(Kind.STACK)) and not wanted.allow_upgrade and not (found.interrupted and found.begun == wanted.purpose())


def in_use(wanted: Wanted, found: Found) -> tuple[str, ...]:
    """Why the stack of the node is in use, in words; empty where it is not.

    A vendor's stack that is whole is there for a reason, and one that looks half installed by what `ofed_info` says alone may be whole: a DOCA-OFED
    whose profile has gone says the same. Any other is in use where RDMA itself has users. Traffic of the network comes and goes: it keeps the driver
    from being reloaded, and no packages from being installed.
    """
    if found.is_vendors and found.is_whole:
        return ("%s is installed" % found.stack.words,)
    if found.is_vendors and not found.is_surely_half and not _changes.same_release(wanted, found):
        return ("%s, or another stack that ofed_info calls the same, is installed" % found.stack.words,)
    names = sorted({"%s %s" % (user.kind, user.name) for user in found.users if user.kind not in _OF_THE_NETWORK})
    return ("in use by %s" % ", ".join(names),) if names else ()
