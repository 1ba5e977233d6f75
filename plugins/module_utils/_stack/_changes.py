# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the wanted with the found stack, and protect its packages against replacement by system updates. Pure.

Where the package manager ranks repositories, packages from the site's repository need no protection.
"""

from __future__ import annotations

import typing as t

from .._facts._stack import DOCA as PROFILES
from .._facts._stack import DOCA_PARTS, ubuntus_doca
from .._host._files import file_change
from .._plan import Change, Kind, changes_of
from .._tools import _packages as packages
from ._bundle import same_version
from ._found import Found
from ._installer_options import user_only
from ._package_names import prebuilt, vendors
from ._wanted import Wanted

NEEDS = "driver_reload"
FIRMWARE_PACKAGE = "mlnx-fw-updater"


def _stack_change(before: str, after: str, *, needs: str = NEEDS, aspect: str = "") -> Change:
    return Change(Kind.STACK, "", aspect, before, after, needs)


def is_installed(wanted: Wanted, found: Found) -> bool:
    """Whether the wanted stack is installed completely and in its version."""
    if not found.is_whole:
        return False
    if wanted.as_is and wanted.fits(found.stack):
        return True
    if wanted.source != "doca" and found.stack.kind != "mlnx_ofed":
        return False
    if wanted.method == "installer" and wanted.source != "doca":
        return same_version(wanted.version, found.stack.ofed_version)
    package = found.packages.get(wanted.metapackage)
    version = "" if package is None else package.version
    if package is None and wanted.metapackage == PROFILES[0]:
        if all(name in found.packages for name in DOCA_PARTS):
            version = found.packages[DOCA_PARTS[0]].version
        elif ubuntus_doca(found.packages)[0]:
            version = found.stack.version
    return bool(version) and (not wanted.version or packages.version_fits(wanted.version, version))


def _words(value: t.Any) -> str:
    return " ".join(str(item) for item in value) if isinstance(value, (list, tuple)) else str(value or "")


def _selection_changes(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    """How the selection differs from the record, for a stack with the right version. Without a record, nothing differs."""
    record = found.record
    if not record or record.get("source") != wanted.source or record.get("version") != wanted.version:
        return ()
    mine = wanted.selection()
    names = ("method", "packages", "installer_options")
    needs = "" if wanted.has_no_modules and user_only(str(record.get("packages", ""))) else NEEDS
    return changes_of(*(_stack_change(_words(record.get(name)), _words(mine[name]), needs=needs, aspect=name) for name in names))


def same_release(wanted: Wanted, found: Found) -> bool:
    """Whether the wanted release is installed, complete or not. MLNX_OFED without a declared version has no wanted release."""
    return wanted.fits(found.stack) and (wanted.source == "doca" or bool(wanted.version))


def stack_changes(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    """The changes to the wanted stack; empty where it is installed."""
    is_doca = wanted.source == "doca"
    selection = () if is_doca else _selection_changes(wanted, found)
    if is_installed(wanted, found) and not selection:
        return ()
    needs = "" if wanted.has_no_modules else NEEDS
    changes = () if same_release(wanted, found) else changes_of(_stack_change(found.stack.words, wanted.words, needs=needs))
    if is_doca:
        has = found.packages[wanted.metapackage].version if wanted.metapackage in found.packages else ""
        selection = changes_of(Change(Kind.PACKAGE, wanted.metapackage, "", has, wanted.version or has or "installed", needs))
    changes += selection
    if changes:
        return changes
    if not is_doca and wanted.method == "repository" and not found.interrupted:
        return (Change(Kind.PACKAGE, wanted.metapackage, "", "", wanted.version or "installed", needs),)
    left = found.interrupted or ("half installed" if found.stack.complete else "")
    before = "%s, %s" % (wanted.words, left) if left else found.stack.words
    return (_stack_change(before, wanted.words, needs=needs),)


def removal_changes(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    """The removal of a vendor's stack."""
    return changes_of(_stack_change(found.stack.words, "inbox" if wanted.keep else "")) if found.is_vendors else ()


def repair_changes(found: Found, names: t.Iterable[str]) -> tuple[Change, ...]:
    """The packages whose interrupted installation is to be completed."""
    return tuple(Change(Kind.PACKAGE, name, "state", found.packages[name].state, "installed") for name in names)


def missing(wanted: Wanted, found: Found) -> tuple[str, ...]:
    """The packages that are wanted along with the stack and are not installed."""
    return tuple(names[0] for names in wanted.also if not any(name in found.packages for name in names))


def additions(names: t.Iterable[str]) -> tuple[Change, ...]:
    """Packages that are added."""
    return tuple(Change(Kind.PACKAGE, name, "", "", "installed") for name in names)


def repository_changes(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    """The repository files to be written or removed."""
    if wanted.repository is None and wanted.state == "present" and wanted.method == "repository":
        # Nothing is declared in place of what an earlier run declared.
        return ()
    files = found.manager.files_of(wanted.repository)
    return changes_of(*(file_change(path, found.files.get(path, ""), content) for path, content in files.items()))


def protects(wanted: Wanted, found: Found) -> bool:
    """Whether packages of the declared stack are to be protected, and can be."""
    manager = found.manager
    if not wanted.protect or wanted.state != "present" or not found.can_protect:
        return False
    return bool(manager.protection_path) and (wanted.method == "installer" or not manager.ranks_repositories)


def is_unprotected(wanted: Wanted, found: Found) -> bool:
    """Whether packages are to be protected, but the package manager lacks the means."""
    return not found.can_protect and protects(wanted, found._replace(can_protect=True))


def lift(found: Found) -> tuple[Change, ...]:
    """Lift the protection, before the stack changes or where no protection is wanted."""
    return _file(found, {})


def protect(found: Found) -> tuple[Change, ...]:
    """Protect the packages, if they are unprotected or the protected ones have changed.

    Added packages are not protected until the next change of the stack: other roles add some later in the same run.
    """
    kept, installed = found.manager.kept(found.protection), _versions(found, found.packages)
    return () if kept and all(installed.get(name) == version for name, version in kept.items()) else renew(found)


def renew(found: Found) -> tuple[Change, ...]:
    """Protect all installed packages except prebuilt modules: a build for another kernel replaces those with another version."""
    modules = prebuilt(found.packages, found.stack.ofed_version)
    return _file(found, _versions(found, (name for name in vendors(found.packages, found.stack.ofed_version) if name not in modules)))


def to_come(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    """The protection of a stack that is about to be installed: the versions of its packages are not known yet."""
    if found.protected and same_release(wanted, found):
        return ()
    before = "%s %s" % (found.stack.kind, found.stack.version) if found.protected and found.is_vendors else ""
    return (Change(Kind.PROTECTION, "", "", before, wanted.words),)


def _versions(found: Found, names: t.Iterable[str]) -> dict[str, str]:
    """Versions by package name, without architecture."""
    return {name.split(":")[0]: found.packages[name].version for name in names}


def _file(found: Found, versions: t.Mapping[str, str]) -> tuple[Change, ...]:
    path = found.manager.protection_path
    return changes_of(file_change(path, found.protection, found.manager.protection(found.protection, versions))) if path else ()
