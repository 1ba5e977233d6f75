# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What blocks a package manager: another process that works on the packages, or one that was killed during its work."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import typing as t

from .._errors import Refused
from .._foreign import decimal, shown
from .._host._files import read_text
from .._host._turn import look_until
from .._host._write import open_regular

if t.TYPE_CHECKING:
    from .._tools._packages import Manager

# struct flock of fcntl(2): type, whence, start, length, process.
_FLOCK = "@hhqqi4x"
_PAUSE_SECONDS = 1.0
_ENTRY = re.compile(r"\d+\Z")


class Holder(t.NamedTuple):
    """The process that works on the packages of the node."""

    pid: int
    program: str
    path: str
    """Path of the lock."""


def _writer(path: str) -> int:
    """The PID with an exclusive lock on a file; 0 for none. Readers of the RPM database share the lock."""
    try:
        with open_regular(path) as stream:
            found = fcntl.fcntl(stream, fcntl.F_GETLK, struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
    except OSError:
        return 0
    kind, _whence, _start, _length, pid = struct.unpack(_FLOCK, found)
    return pid if kind == fcntl.F_WRLCK else 0


def _noted(path: str, root: str) -> int:
    """The PID in a file, if that process is alive; 0 otherwise."""
    pid = decimal(read_text(path).strip(), 0)
    return pid if pid and os.path.isdir(os.path.join(root, "proc", str(pid))) else 0


def holder(manager: Manager, root: str = "/") -> Holder | None:
    """The process that works on the packages; None where none does."""
    for paths, find in ((manager.locks, _writer), (manager.pid_files, lambda path: _noted(path, root))):
        for path in paths:
            pid = find(os.path.join(root, path))
            if pid:
                return Holder(pid, shown(read_text(os.path.join(root, "proc", str(pid), "comm")).strip()), "/" + path)
    return None


def wait_for_turn(manager: Manager, patience: float, root: str = "/") -> bool:
    """Wait for up to `patience` seconds until no other process works on the packages; return whether one did. Raises Refused."""
    first = holder(manager, root)
    found = first and look_until(lambda: holder(manager, root), lambda now: now is None, patience=patience, pause=_PAUSE_SECONDS)
    if found is not None:
        words = "%s can't be used now: process %d%s has held the lock %s for more than %d s. Nothing was changed. Next: wait until it ends, then run this again"
        raise Refused(words % (manager.name, found.pid, " (%s)" % found.program if found.program else "", found.path, patience))
    return first is not None


def is_interrupted(manager: Manager, root: str = "/") -> bool:
    """Whether the package manager was killed while it wrote its database. It refuses everything else until that is completed."""
    try:
        return bool(manager.journal) and any(map(_ENTRY.match, os.listdir(os.path.join(root, manager.journal))))
    except OSError:
        return False
