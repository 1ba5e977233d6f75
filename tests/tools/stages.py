# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs make targets one after the other, all of them even if one fails, and ends with the time that each took."""

from __future__ import annotations

import subprocess
import sys
import time
import typing as t

from common import ROOT, main, say


class Stage(t.NamedTuple):
    """One target that was run."""

    name: str
    status: int
    seconds: float


def run_stage(name: str) -> Stage:
    say("stage %s" % name)
    start = time.monotonic()
    status = subprocess.call(["make", "--no-print-directory", name], cwd=ROOT, stdin=subprocess.DEVNULL)
    return Stage(name, status, time.monotonic() - start)


def table(stages: t.Sequence[Stage]) -> str:
    """One line a stage, then the total, then how many passed and failed."""
    lines = ["%-12s %-6s %6.0f s" % (stage.name, "FAILED" if stage.status else "ok", stage.seconds) for stage in stages]
    lines.append("%-12s %-6s %6.0f s" % ("total", "", sum(stage.seconds for stage in stages)))
    failed = sum(bool(stage.status) for stage in stages)
    return "\n".join([*lines, "", "%d passed, %d failed" % (len(stages) - failed, failed)])


def run_stages() -> None:
    stages = [run_stage(name) for name in sys.argv[1:]]
    print("\n%s" % table(stages), flush=True)
    sys.exit(any(stage.status for stage in stages))


if __name__ == "__main__":
    main(run_stages)
