# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find what prevents a change of the stack, before the first change.

That is: packages outside of the stack that would be removed with it, as the package manager simulates it (for a repository that is not
declared yet, on a copy of its lists); options that the installer does not know; and kernel modules that can't be built.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import typing as t

from .._errors import CommandFailed, Refused, require_none
from .._facts._machine import read_machine
from .._host._private import private_files
from .._plan import Change, Kind
from .._tools import _apt as apt
from .._tools import _packages as packages
from .._tools import _rpm as rpm
from .._tools._packages import Transaction, address_of
from ._bundle import INSTALLER, Place
from ._changes import lift
from ._found import Found
from ._installer_options import Installer, names_of
from ._installer_run import parse_help
from ._package_names import REPLACED, is_library, is_vendors, taken_by_installer
from ._plan import StackPlan
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from .._host._run import Output, Runner

# With these options the installer builds nothing for the running kernel, or does not require its headers.
_WITHOUT_HEADERS = frozenset({"--without-dkms", "--without-depcheck", "-k", "--kernel", "-s", "--kernel-sources"})
# A package that every system of the Debian family offers. If it is missing, there are no package lists.
_ALWAYS_OFFERED = "dpkg"
_APT_SECONDS = 600


def foreign(removed: t.Iterable[str], versions: t.Mapping[str, str], *, expected: t.Collection[str], release: str = "", by_name: bool = False) -> list[str]:
    """The `removed` packages that are not part of the stack. Pure.

    `expected`: the packages that the plan removes. The installer removes further packages by name: with `by_name` these count as part of the
    stack and are installed again with it. So do the distribution's own builds of its libraries: a package that needs one of
    them is removed with it and reported itself.
    """
    return sorted(
        name
        for name in set(removed)
        if name not in expected and not is_vendors(name, versions.get(name, ""), release) and not is_library(name) and not (by_name and name in REPLACED)
    )


def refuse(names: t.Sequence[str], allowed: t.Collection[str], what: str) -> None:
    """Refuse if one of the foreign packages may not be removed. `what`: what is about to be done, such as `mlnx_ofed 5.8 is installed`."""
    kept = [name for name in names if name not in allowed]
    if kept:
        raise Refused(
            "nothing was changed: %d package%s not part of the RDMA stack and would be removed when %s: %s. "
            "Remove them yourself, or list them in ofed_allow_removal: they are removed, and not installed again"
            % (len(kept), " is" if len(kept) == 1 else "s are", what, ", ".join(kept)),
            dependants=kept,
        )


def _erased(run: Runner, argv: t.Sequence[str], replaced: t.Container[str]) -> dict[str, str]:
    """What rpm would break with an erasure, and what depends on that in turn. The libraries in `replaced` are installed again."""
    found: list[str] = []
    while True:
        output = run([*argv, *found], ok=None, timeout=300)
        more = sorted({*found, *rpm.parse_rpm_test(output.stderr, replaced)})
        if more == found:
            return dict.fromkeys(found, "")
        found = more


def _removed(run: Runner, found: Found, argv: t.Sequence[str], *, wanted: Wanted, root: str) -> dict[str, str]:
    """The packages that a simulation would remove, with versions where it reports them."""
    if rpm.is_erase_test(argv):
        return _erased(run, argv, () if wanted.packages == "kernel-only" else REPLACED)
    address = wanted.repository.address if wanted.repository is not None else ""
    with private_files(found.manager.preview_files(address), root):
        output = run(argv, ok=None, timeout=300)
    failed = found.manager.preview_failure(output)
    if failed:
        raise Refused("nothing was changed: %s can't do this: %s" % (found.manager.name, failed))
    return found.manager.parse_preview(output.stdout)


def _removed_by_plan(run: Runner, found: Found, todo: StackPlan, *, wanted: Wanted, root: str) -> dict[str, str]:
    if packages.lost(found.packages):
        gone = {*todo.removes, *(taken_by_installer(found.packages) if todo.by_installer else ())}
        return dict.fromkeys(packages.dependent(found.packages, gone), "")
    return {name: version for argv in todo.simulate for name, version in _removed(run, found, argv, wanted=wanted, root=root).items()}


def _copy(source: str, target: str, without: t.Container[str]) -> None:
    os.makedirs(target, exist_ok=True)
    for name in sorted(os.listdir(source)) if os.path.isdir(source) else []:
        path = os.path.join(source, name)
        if os.path.isfile(path) and name not in without:
            # The lists have tens of megabytes; apt replaces these files and modifies none in place.
            try:
                os.link(path, os.path.join(target, name))
            except OSError:
                shutil.copyfile(path, os.path.join(target, name))


def _ask(run: Runner, argv: t.Sequence[str], options: t.Sequence[str]) -> Output:
    return run([argv[0], *(word for option in options for word in ("-o", option)), *argv[1:]], ok=None, timeout=_APT_SECONDS)


def _said(output: Output) -> str:
    lines = [line for line in (output.stderr + "\n" + output.stdout).splitlines() if line.startswith(("E:", "W:"))]
    return " ".join(lines) or (output.stderr or output.stdout).strip()


def _write(files: t.Mapping[str, str], folder: str) -> str:
    """Write the repository files and the key into a temporary folder; returns the path of the sources file."""
    sources = ""
    for path, content in files.items():
        if not content:
            continue
        if path.startswith("/etc/apt/sources.list.d/"):
            sources = os.path.join(folder, "sources", os.path.basename(path))
        target = os.path.join(folder, "preferences" if "/preferences.d/" in path else "sources" if "/sources.list.d/" in path else "", os.path.basename(path))
        text = content.replace("/etc/apt/keyrings", folder) if "/sources.list.d/" in path else content
        # apt reads passwords as root, and all else as an unprivileged user.
        mode = 0o600 if path == apt.AUTH else 0o644
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(text)
    return sources


def preview(run: Runner, files: t.Mapping[str, str], *, name: str, argv: t.Sequence[str], address: str, root: str = "/") -> tuple[list[str], Transaction]:
    """Read the lists of the new repository into a copy. Returns the versions of the package `name` there, and what `argv` would do.

    Without `argv`, nothing is simulated. Errors name the repository.
    """
    with tempfile.TemporaryDirectory(prefix="rdma-ofed-") as folder:
        # apt reads keys and folders as an unprivileged user.
        os.chmod(folder, 0o755)
        _copy(os.path.join(root, "var/lib/apt/lists"), folder + "/lists", ("lock",))
        os.makedirs(folder + "/lists/partial")
        # An earlier declaration of the same repository is replaced.
        declared = ["lock", *map(os.path.basename, files)]
        _copy(os.path.join(root, "etc/apt/sources.list.d"), folder + "/sources", declared)
        _copy(os.path.join(root, "etc/apt/preferences.d"), folder + "/preferences", declared)
        sources = _write(files, folder)
        common = ["Dir::State::lists=%s/lists" % folder, "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache=", "APT::Sandbox::User=root"]
        common += ["Dir::Etc::netrc=%s/%s" % (folder, os.path.basename(apt.AUTH))] if files.get(apt.AUTH) else []
        alone = ["Dir::Etc::sourcelist=%s" % sources, "Dir::Etc::sourceparts=/dev/null", "APT::Get::List-Cleanup=0"]
        read = _ask(run, apt.Apt().update, [*common, *alone])
        if read.rc or "\nE:" in "\n" + read.stderr:
            raise CommandFailed("ofed_repository: %s can't be used: %s. Nothing was changed" % (address, _said(read)))
        offers = apt.parse_madison(_ask(run, ("apt-cache", "madison", name), [*common, *alone]).stdout)
        if not offers.get(name):
            raise Refused("ofed_repository: %s has no package %s. Nothing was changed" % (address, name))
        if not argv:
            return offers[name], Transaction({}, {})
        options = [*common, "Dir::Etc::sourceparts=%s/sources" % folder, "Dir::Etc::preferencesparts=%s/preferences" % folder]
        simulated = _ask(run, apt.simulate(argv), options)
        if simulated.rc:
            raise Refused("ofed_repository: apt can't install this from %s: %s Nothing was changed" % (address, _said(simulated)))
        return offers[name], apt.parse_simulation(simulated.stdout)


def _removed_by_repository(run: Runner, wanted: Wanted, found: Found, *, todo: StackPlan, root: str) -> t.Mapping[str, str]:
    """What a repository that is not declared yet makes apt remove. Raises Refused where it does not have the version."""
    if wanted.repository is None or not todo.steps or not found.manager.simulates:
        return {}
    # Without the protection, the simulation shows what the protection would block, and the refusal gives the reason.
    files = {**found.files, **{change.subject: change.after for change in (*todo.about(Kind.FILE), *lift(found))}}
    # If a former stack is removed first, or packages are to be repaired, apt's later decisions can't be simulated.
    argv = () if todo.simulate or packages.broken(found.packages) else todo.steps[-1].argv
    offered, seen = preview(run, files, name=wanted.metapackage, argv=argv, address=address_of(wanted.repository.address).plain, root=root)
    if wanted.version and not any(packages.version_fits(wanted.version, version) for version in offered):
        text = "ofed_repository: %s offers %s %s, and %s is wanted. Nothing was changed"
        raise Refused(text % (address_of(wanted.repository.address).plain, wanted.metapackage, ", ".join(offered), wanted.version))
    _refuse_newer(found, todo, seen.installed)
    return seen.removed


def _refuse_newer(found: Found, todo: StackPlan, installed: t.Mapping[str, str]) -> None:
    """Refuse to upgrade packages of the stack that stays because an added package depends on them. `installed`: versions by name."""
    newer = [name for name in found.vendors if installed.get(name, found.packages[name].version) != found.packages[name].version]
    if newer and not todo.about(Kind.STACK):
        raise Refused(
            "nothing was changed: the packages to add to %s depend on other versions of its packages: %s. It stays at its release unless another one is "
            "declared. Next: declare ofed_version and run rdma.ofed.upgrade, or use a repository that has the installed release"
            % (found.stack.words, ", ".join("%s (%s is installed, %s would be)" % (name, found.packages[name].version, installed[name]) for name in newer))
        )


def dependants(run: Runner, wanted: Wanted, found: Found, *, todo: StackPlan, root: str) -> tuple[Change, ...]:
    """The foreign packages that will be removed. Raises Refused for those that may not be removed."""
    removed = {**_removed_by_plan(run, found, todo, wanted=wanted, root=root), **_removed_by_repository(run, wanted, found, todo=todo, root=root)}
    versions = {name: package.version for name, package in found.packages.items()}
    names = foreign(removed, versions, expected=todo.removes, release=found.stack.ofed_version, by_name=todo.by_installer)
    refuse(names, wanted.allow_removal, "the stack is removed" if wanted.state == "absent" else "%s is installed" % wanted.words)
    return tuple(Change(Kind.PACKAGE, name, "", versions.get(name) or removed[name] or "installed", "") for name in names)


def refuse_unknown_options(run: Runner, wanted: Wanted, found: Found, *, place: Place) -> None:
    """Refuse options that neither the tables nor the help of an unpacked bundle list. For a packed bundle, the job does that."""
    installer = Installer(wanted.version, found.manager.packaging)
    unsure = () if place.unpack else installer.doubts(wanted.installer_options, wanted.packages)
    if not unsure:
        return
    told = parse_help(run([os.path.join(place.tree, INSTALLER), "--help"], ok=None).stdout)
    require_none([installer.refused_by_help(name) for name in unsure if name not in told])


def refuse_without_headers(run: Runner, wanted: Wanted, found: Found, *, root: str) -> None:
    """Refuse to build kernel modules in a container for which the headers of the host's kernel are not available."""
    kernel = os.uname().release
    builds = wanted.source == "mlnx_ofed" and not wanted.has_no_modules and not _WITHOUT_HEADERS & names_of(wanted.installer_options)
    if not builds or found.manager.packaging != "deb" or os.path.isdir(os.path.join(root, "lib/modules", kernel, "build/scripts")):
        return
    if read_machine(root).kind != "container":
        return
    headers = "linux-headers-" + kernel
    offers = found.manager.offers(run, [headers, _ALWAYS_OFFERED])
    if offers.get(_ALWAYS_OFFERED) and not offers.get(headers):
        base = wanted.packages if wanted.packages != "kernel-only" else "basic"
        raise Refused(
            "ofed_packages: %s has kernel modules, which are built with the headers of the running kernel. This is a container with the kernel %s of its host, "
            "and there is no package %s for it. Set ofed_packages: %s-user-only, which is user space alone; nothing was changed"
            % (wanted.packages, kernel, headers, base)
        )
