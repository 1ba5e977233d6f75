# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait until another process has ended its work."""

from __future__ import annotations

import fcntl
import time
import typing as t


def comes(is_there: t.Callable[[], bool], patience: float, pause: float) -> bool:
    """Whether `is_there` says yes within `patience` seconds. It is called at least once, and once more after the last pause."""
    end = time.monotonic() + patience
    while not is_there():
        if time.monotonic() >= end:
            return False
        time.sleep(pause)
    return True


def locks(stream: t.IO[t.Any]) -> bool:
    """Lock a file for this process, unless another one has the lock; whether it did. Raises OSError where it can't be locked at all."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
