# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the lab says: progress with the time since the start, and failures in plain words."""

from __future__ import annotations

import json
import os
import sys
import time

_START = time.monotonic()


class LabError(Exception):
    """What is wrong, with the next step; shown as it is, without a traceback."""


def say(text: str) -> None:
    """One line of progress, on standard error: standard output is for answers."""
    print("%6.1f s  %s" % (time.monotonic() - _START, text), file=sys.stderr, flush=True)


def record_start(prefix: str) -> None:
    """For a run of checks, which says at its end where the time went (tests/tools/timing.py): how long this command took to start a lab."""
    path = os.environ.get("RDMA_TIMES")
    if path:
        line = json.dumps({"kind": "lab", "name": prefix, "seconds": round(time.monotonic() - _START, 1)})
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, (line + "\n").encode())
        finally:
            os.close(handle)
