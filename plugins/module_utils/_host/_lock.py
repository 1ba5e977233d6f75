# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One lock per card, which every module of the collection takes before it writes to an adapter."""

from __future__ import annotations

import contextlib
import os
import typing as t

from .._errors import Refused, Unsupported
from ._turn import comes, locks
from ._write import lock_file

LOCK_DIRECTORY = "run/rdma-ofed/lock"
# The lock directory of earlier releases, one of which may be running. On Debian all users may write to /run/lock.
_FORMER = "run/lock/rdma.ofed"
_PAUSE_SECONDS = 0.5


def root_hint(exc: OSError) -> str:
    """The next step if permissions are missing; "" for root and for a disk that is full or read-only."""
    return ". Run the task as root." if isinstance(exc, PermissionError) and os.geteuid() != 0 else ""


def _take(stream: t.TextIO, pci: str, patience: float) -> None:
    if not comes(lambda: locks(stream), patience, _PAUSE_SECONDS):
        stream.seek(0)
        holder = stream.read().strip() or "unknown"
        raise Refused("the adapter at %s is in use by process %s, which writes to it; wait until that process ends" % (pci, holder))
    stream.seek(0)
    stream.truncate()
    stream.write("%d\n" % os.getpid())
    stream.flush()


@contextlib.contextmanager
def card_locks(functions: t.Iterable[str], patience: float, root: str = "/") -> t.Iterator[None]:
    """Hold the locks of the cards with PCI functions such as `0000:03:00.0`; all functions of a card share one lock. `patience`: seconds per card.

    Locks are always taken in the same order, so that two runs can't deadlock. The kernel releases a lock when its holder dies.
    """
    with contextlib.ExitStack() as stack:
        try:
            for pci in sorted(functions):
                name = pci.rpartition(".")[0] or pci
                _take(stack.enter_context(lock_file(os.path.join(root, LOCK_DIRECTORY), name)), pci, patience)
                former = _former(os.path.join(root, _FORMER), name)
                if former is not None:
                    _take(stack.enter_context(former), pci, patience)
        except OSError as exc:
            raise Unsupported("the adapter can't be locked: %s%s" % (exc, root_hint(exc))) from exc
        yield


def _former(folder: str, name: str) -> t.TextIO | None:
    """The lock of an earlier release; None where it is missing or does not belong to root."""
    try:
        return lock_file(folder, name, make=False)
    except OSError:
        return None
