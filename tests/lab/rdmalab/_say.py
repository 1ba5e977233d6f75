# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages of the lab: progress with the time since the start, and failures in plain words."""

from __future__ import annotations

import json
import os
import sys
import time

_START = time.monotonic()


class LabError(Exception):
    """An error with the next step, shown without a traceback."""


def say(text: str) -> None:
    """Print a line of progress to standard error. Standard output is for results."""
    print("%6.1f s  %s" % (time.monotonic() - _START, text), file=sys.stderr, flush=True)


def record_start(prefix: str) -> None:
    """Record how long this command took to start a lab, for the summary at the end of a run of checks (tests/tools/timing.py)."""
    path = os.environ.get("RDMA_TIMES")
    if path:
        line = json.dumps({"kind": "lab", "name": prefix, "seconds": round(time.monotonic() - _START, 1)})
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, (line + "\n").encode())
        finally:
            os.close(handle)
