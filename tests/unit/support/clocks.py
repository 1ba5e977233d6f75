# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A clock that advances only during sleeps of the thread that runs the test.

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
    real, owner = (time.sleep, time.monotonic), threading.get_ident()

    def sleep(seconds: float) -> None:
        if threading.get_ident() != owner:
            real[0](seconds)
            return
        slept.append(seconds)
        on_sleep(len(slept))

    monkeypatch.setattr(time, "monotonic", lambda: sum(slept) if threading.get_ident() == owner else real[1]())
    monkeypatch.setattr(time, "sleep", sleep)
    return slept
