# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Keep the packages of a vendor's stack from being replaced by updates of the system. Pure.

Where the package manager ranks repositories, what came from that of the site needs no protection.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import file_change
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, changes_of
from ansible_collections.rdma.ofed.plugins.module_utils._stack._changes import same_release
from ansible_collections.rdma.ofed.plugins.module_utils._stack._package_names import prebuilt, vendors

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._stack._states import Found, Wanted


def protects(wanted: Wanted, found: Found) -> bool:
    """Whether packages of the declared stack are to be protected, and can be."""
    manager = found.manager
    if not wanted.protect or wanted.state != "present" or not found.can_protect:
        return False
    return bool(manager.protection_path) and (wanted.method == "installer" or not manager.ranks_repositories)


def is_unprotected(wanted: Wanted, found: Found) -> bool:
    """Whether packages are to be protected, and the package manager lacks what that takes."""
    return not found.can_protect and protects(wanted, found._replace(can_protect=True))


def lift(found: Found) -> tuple[Change, ...]:
    """Lift the protection, before the stack changes or where none is wanted."""
    return _file(found, {})


def protect(found: Found) -> tuple[Change, ...]:
    """Protect the packages, where that is not done, or where those that are protected have changed.

    Packages that were added are not protected until the next change of the stack: other roles add some later in the same run.
    """
    kept, installed = found.manager.kept(found.protection), _versions(found, found.packages)
    return () if kept and all(installed.get(name) == version for name, version in kept.items()) else renew(found)


def renew(found: Found) -> tuple[Change, ...]:
    """Protect all packages that are installed, but for ready-made modules: a build for another kernel brings them in another version."""
    modules = prebuilt(found.packages, found.stack.ofed_version)
    return _file(found, _versions(found, (name for name in vendors(found.packages, found.stack.ofed_version) if name not in modules)))


def to_come(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    """The protection of a stack that is about to be installed: the versions of its packages are not known yet."""
    if found.protected and same_release(wanted, found):
        return ()
    before = "%s %s" % (found.stack.kind, found.stack.version) if found.protected and found.is_vendors else ""
    return (Change(Kind.PROTECTION, "", "", before, wanted.words),)


def _versions(found: Found, names: t.Iterable[str]) -> dict[str, str]:
    """By names without an architecture."""
    return {name.split(":")[0]: found.packages[name].version for name in names}


def _file(found: Found, versions: t.Mapping[str, str]) -> tuple[Change, ...]:
    path = found.manager.protection_path
    return changes_of(file_change(path, found.protection, found.manager.protection(found.protection, versions))) if path else ()
