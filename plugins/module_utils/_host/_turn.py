# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting: look repeatedly until the state is as wanted or the time is up."""

from __future__ import annotations

import fcntl
import time
import typing as t

Look = t.TypeVar("Look")


def look_until(look: t.Callable[[], Look], is_settled: t.Callable[[Look], bool], *, patience: float, pause: float) -> Look:
    """The first look that is settled, or the one after `patience` seconds. Looks at least once."""
    end = time.monotonic() + patience
    while True:
        found = look()
        left = end - time.monotonic()
        if is_settled(found) or left <= 0:
            return found
        time.sleep(min(pause, left))


def comes(is_there: t.Callable[[], bool], patience: float, pause: float) -> bool:
    """Whether `is_there` returns true within `patience` seconds."""
    return look_until(is_there, bool, patience=patience, pause=pause)


def locks(stream: t.IO[t.Any]) -> bool:
    """Try to lock a file for this process; return False if another process has the lock. Raises OSError where it can't be locked at all."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
