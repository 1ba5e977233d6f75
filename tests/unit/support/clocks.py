# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A clock that advances only during sleeps of the test and of the threads that it starts.

Threads that earlier tests left behind keep the real time: they would move this clock.
"""

from __future__ import annotations

import threading
import time
import typing as t

import pytest


def without_waiting(monkeypatch: pytest.MonkeyPatch, on_sleep: t.Callable[[int], None] = lambda _count: None) -> list[float]:
    """Replace the clock; return the seconds of each sleep so far. `on_sleep` gets their number after each."""
    slept: list[float] = []
    sleep_really, now_really = time.sleep, time.monotonic
    others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def sleep(seconds: float) -> None:
        if threading.get_ident() in others:
            sleep_really(seconds)
            return
        slept.append(seconds)
        on_sleep(len(slept))

    monkeypatch.setattr(time, "monotonic", lambda: now_really() if threading.get_ident() in others else sum(slept))
    monkeypatch.setattr(time, "sleep", sleep)
    return slept
