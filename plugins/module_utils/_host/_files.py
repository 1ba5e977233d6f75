# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Text files of a node: read, compare, and write atomically."""

from __future__ import annotations

import os
import tempfile
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

PREFIX = "file "

# The first line of every file that belongs to the collection whole.
HEADER = "# Managed by the Ansible collection rdma.ofed: local changes are overwritten.\n"


def read_text(path: str, missing: str = "") -> str:
    """The content of a file, or C(missing) where there is none. Undecodable bytes survive a round trip."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return missing


def file_change(path: str, found: str, wanted: str, needs: str = "") -> Change | None:
    """The change that makes C(path) hold C(wanted); "" means that the file shall not exist."""
    return Change(PREFIX + path, found, wanted, needs) if found != wanted else None


def apply_file(module: AnsibleModule, change: Change, mode: int = 0o644, backup: bool = False) -> str | None:
    """Carry out a change of C(file_change); returns the path of the backup, if one was asked for and there was a file.

    The content is written beside the target and moved over it, so a reader sees the old or the new file, never half
    of one. Owner and permissions of an existing file are kept.
    """
    path = change.what[len(PREFIX) :]
    saved: str | None = None
    if backup and os.path.exists(path):
        saved = module.backup_local(path)
    if not change.after:
        if os.path.lexists(path):
            os.unlink(path)
        return saved
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o755, exist_ok=True)
    existed = os.path.exists(path)
    handle, temporary = tempfile.mkstemp(dir=directory, prefix="." + os.path.basename(path))
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(change.after)
    module.atomic_move(temporary, path)
    if not existed:
        # After the move: atomic_move gives a new file the permissions of the umask.
        os.chmod(path, mode)
    return saved


__all__ = ("HEADER", "PREFIX", "apply_file", "file_change", "read_text")
