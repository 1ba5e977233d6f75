# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read, compare and write text files of a node; writing is done as in `_write.py`."""

from __future__ import annotations

import errno
import os
import typing as t

from .._plan import Change, Kind
from ._write import replace_file

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# The first line of every file that belongs entirely to the collection.
HEADER = "# Managed by the Ansible collection rdma.ofed: local changes are overwritten.\n"


def under(root: str, path: str) -> str:
    """The location of the node's `path`, if the files of the node are below `root`."""
    return os.path.join(root, path.lstrip("/"))


def read_text(path: str) -> str:
    """The content of a file; "" where it is missing, a directory, or a link that leads back to itself. Undecodable bytes survive a round trip."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            return ""
        raise


def file_change(path: str, found: str, wanted: str) -> Change | None:
    """The change after which `path` contains `wanted`; "" means that the file must not exist."""
    return Change(Kind.FILE, path, "", found, wanted) if found != wanted else None


def write_text(path: str, wanted: str, mode: int = 0o644) -> None:
    """Write to a temporary file and rename it: a reader sees the old or the new content. Characters that can't be encoded become `?`."""
    replace_file(path, wanted.encode("utf-8", "replace"), mode)


def apply_file(
    module: AnsibleModule,
    change: Change,
    *,
    mode: int = 0o644,
    owner: tuple[int, int] | None = None,
    backup: bool = False,
    exact: bool = False,
    root: str = "/",
) -> str | None:
    """Carry out a change of `file_change`; returns the path of the backup, if `backup` is set and the file existed.

    The content is written beside the target and renamed, so a reader sees the old or the new file, never a partial one
    and never one with wrong permissions: after an interruption, the next run would find the right content and
    not check the permissions. `owner`: IDs of user and group of a new file, root by default. An existing file keeps its owner and permissions, unless they
    are to be `exact`: then it is always replaced by a new file.
    """
    path = under(root, change.subject)
    saved: str | None = module.backup_local(path) if backup and os.path.isfile(path) else None
    if not change.after:
        if os.path.lexists(path):
            os.unlink(path)
        return saved

    def install(temporary: str) -> None:
        # A masked unit is a link to /dev/null. Its permissions must not be kept: they let every user write.
        if os.path.isfile(path):
            module.atomic_move(temporary, path)
            return
        if module.selinux_enabled():
            module.set_context_if_different(temporary, module.selinux_default_context(path), False)
        # atomic_move applies the umask to a new file after it is in place.
        os.rename(temporary, path)

    replace_file(path, change.after.encode("utf-8", "surrogateescape"), mode, owner=owner, install=None if exact else install)
    return saved
