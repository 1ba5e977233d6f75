# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs make targets one after the other, all of them even if one fails, and ends with the time that each took.

C(one,next) runs one and then the next. C(one+other) runs two such lines at the same time: the first is watched, what the other
said is shown when both have ended.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
import typing as t

from common import ROOT, main, say


class Stage(t.NamedTuple):
    """One target that was run."""

    name: str
    status: int
    seconds: float


def run_stage(name: str, output: t.IO[bytes] | None = None) -> Stage:
    start = time.monotonic()
    argv = ["make", "--no-print-directory", name]
    status = subprocess.call(argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT if output else None)
    return Stage(name, status, time.monotonic() - start)


def run_line(line: str, output: t.IO[bytes] | None = None) -> list[Stage]:
    """One after the other, whether or not those before failed."""
    return [run_stage(name, output) for name in line.split(",")]


def run_together(lines: t.Sequence[str]) -> list[Stage]:
    """Each with a thread; of all but the first, the output is kept until they have ended."""
    say("stage %s" % " and ".join(lines))
    with contextlib.ExitStack() as cleanup:
        outputs = [cleanup.enter_context(tempfile.TemporaryFile()) for _line in lines[1:]]
        with concurrent.futures.ThreadPoolExecutor(len(lines)) as pool:
            stages = [stage for found in pool.map(run_line, lines, [None, *outputs]) for stage in found]
        for line, output in zip(lines[1:], outputs):
            say("stage %s, beside %s" % (line, lines[0]))
            output.seek(0)
            shutil.copyfileobj(output, sys.stdout.buffer)
            sys.stdout.flush()
    return stages


def table(stages: t.Sequence[Stage], seconds: float) -> str:
    """One line a stage, then the time of all, then how many passed and failed."""
    lines = ["%-20s %-6s %6.0f s" % (stage.name, "FAILED" if stage.status else "ok", stage.seconds) for stage in stages]
    lines.append("%-20s %-6s %6.0f s" % ("total", "", seconds))
    failed = sum(bool(stage.status) for stage in stages)
    return "\n".join([*lines, "", "%d passed, %d failed" % (len(stages) - failed, failed)])


def run_stages() -> None:
    start = time.monotonic()
    stages = [stage for names in sys.argv[1:] for stage in run_together(names.split("+"))]
    print("\n%s" % table(stages, time.monotonic() - start), flush=True)
    sys.exit(any(stage.status for stage in stages))


if __name__ == "__main__":
    main(run_stages)
