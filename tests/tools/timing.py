# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The breakdown of the time of a run of checks. Pure, except for reading and writing the lines.

The file named by the environment variable RDMA_TIMES has a line of JSON for each test, playbook run, single module, lab start and package installation. The
pytest plugin `timed`, the callback `time_record` and the lab write them.
"""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

VARIABLE = "RDMA_TIMES"
SLOWEST = 20
WORTH_LINES = 5
WORTH_CHARACTERS = 240
"""Length of an error excerpt; the logs have the rest."""

Event = t.Dict[str, t.Any]
"""`kind` is one of KINDS or "test"; all events have `name` and `seconds`."""

KINDS = {
    "play": "playbook runs",
    "module": "single modules",
    "lab": "lab starts",
    "packages": "package installations",
}


def append(event: Event, environ: t.Mapping[str, str] = os.environ) -> None:
    """Append a line with a single write, because many processes write to the same file. Does nothing without RDMA_TIMES."""
    path = environ.get(VARIABLE)
    if path:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, (json.dumps(event) + "\n").encode())
        finally:
            os.close(handle)


def brief(lines: t.Sequence[str]) -> str:
    """Return an excerpt of an error, short enough for the summary of a run."""
    return "\n".join(line.strip()[:WORTH_CHARACTERS] for line in lines[:WORTH_LINES])


def test(suite: str, name: str, *, seconds: float, failed: bool, why: str, alone: str) -> None:
    """Record a test. `why` is the beginning of the error; `alone` is the command that runs the test again."""
    stage = os.environ.get("RDMA_STAGE", "")
    append({"kind": "test", "stage": stage, "suite": suite, "name": name, "seconds": round(seconds, 1), "failed": failed, "why": why, "alone": alone})


def read(path: pathlib.Path) -> list[Event]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(events: t.Sequence[Event]) -> str:
    """Return the slowest tests, then the number and total time of the slow operations."""
    tests = sorted((event for event in events if event["kind"] == "test"), key=lambda event: -event["seconds"])
    lines = ["The slowest tests:", *("%7.1f s  %-20s %s" % (event["seconds"], event["suite"], event["name"]) for event in tests[:SLOWEST])]
    lines += ["", "%-24s %6s %8s" % ("", "count", "seconds")]
    for kind, words in KINDS.items():
        found = [event["seconds"] for event in events if event["kind"] == kind]
        lines.append("%-24s %6d %8.0f" % (words, len(found), sum(found)))
    return "\n".join([*lines, "Installations are parts of playbook runs; those on several hosts at the same time count each."])
