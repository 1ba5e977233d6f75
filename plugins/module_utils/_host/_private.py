# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Temporary files with secrets for tools. On a command line, every user of the node could read them."""

from __future__ import annotations

import contextlib
import os
import typing as t

from .._errors import Refused, Unsupported
from ._files import under, write_text
from ._lock import LOCK_DIRECTORY, root_hint
from ._turn import comes, locks
from ._write import lock_file

# It contains nothing else, so everything in it is a leftover of a killed process.
FOLDER = "/run/rdma-ofed/preview"
_LOCK = "private"
_SECONDS, _PAUSE_SECONDS = 900.0, 0.5


@contextlib.contextmanager
def private_files(files: t.Mapping[str, str], root: str = "/") -> t.Iterator[None]:
    """Context in which the files exist in FOLDER, readable for root only. Concurrent runs wait for each other: one would remove the files of the other."""
    if not files:
        yield
        return
    paths = {under(root, path): text for path, text in files.items()}
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context(lock_file(os.path.join(root, LOCK_DIRECTORY), _LOCK))
            if not comes(lambda: locks(lock), _SECONDS, _PAUSE_SECONDS):
                raise Refused("another run of this collection has been using the package manager of this node for %d s; wait until it ends" % _SECONDS)
            stack.callback(_empty, under(root, FOLDER))
            _empty(under(root, FOLDER))
            for path, text in paths.items():
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                write_text(path, text, 0o600)
        except OSError as exc:
            raise Unsupported("a file with the password of the repository can't be written: %s%s" % (exc, root_hint(exc))) from exc
        yield


def remove_left(root: str = "/") -> None:
    """Remove the files of a killed process, whose lock the kernel has released. Those of a running process stay."""
    folder = under(root, FOLDER)
    if not os.path.isdir(folder):
        return
    # A user who can't remove them can't have written them.
    with contextlib.suppress(OSError), lock_file(os.path.join(root, LOCK_DIRECTORY), _LOCK) as lock:
        if locks(lock):
            _empty(folder)


def _empty(folder: str) -> None:
    names = os.listdir(folder) if os.path.isdir(folder) and not os.path.islink(folder) else []
    for name in names:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, name))
    with contextlib.suppress(OSError):
        os.rmdir(folder)
