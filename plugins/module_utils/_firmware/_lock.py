# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""One writer for an adapter at a time, also between two runs of Ansible: the firmware tools fail where they meet."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Unsupported

DIRECTORY = "run/lock/rdma-ofed"
_POLL = 0.2


def _take(path: str, pci: str, timeout: float) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(_POLL)
                continue
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(handle)
            raise CommandFailed(
                "adapter %s is in use by another run of this collection (process %s) for over %g s: try again" % (pci, holder, timeout)
            ) from None
        os.ftruncate(handle, 0)
        os.write(handle, b"%d\n" % os.getpid())
        return handle


@contextlib.contextmanager
def locked(adapters: t.Iterable[str], timeout: float = 120, root: str = "/") -> t.Iterator[None]:
    """Hold the locks of adapters, named by their first PCI function. The kernel frees them when the process ends.

    They are always taken in one order, so that two runs can't wait for each other.
    """
    directory = os.path.join(root, DIRECTORY)
    handles: list[int] = []
    try:
        try:
            os.makedirs(directory, mode=0o755, exist_ok=True)
            for pci in sorted(set(adapters)):
                handles.append(_take(os.path.join(directory, pci), pci, timeout))
        except OSError as exc:
            raise Unsupported("no lock for the adapters can be had below %s: %s. Run the task as root" % (directory, exc.strerror)) from exc
        yield
    finally:
        for handle in handles:
            os.close(handle)


__all__ = ("DIRECTORY", "locked")
