# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds what failed in a stage, and the command that reruns only that. Pure."""

from __future__ import annotations

import re
import shlex
import typing as t

from stages import Done
from timing import WORTH_LINES, Event, brief

_STEP = re.compile(r"^==> (.*)$", re.MULTILINE)
# After a failed step, Molecule still runs its cleanup.
_MOLECULE = re.compile(r"^ERROR +\[(\w+) > (\w+)\]", re.MULTILINE)


class Failure(t.NamedTuple):
    """One failure."""

    name: str
    command: str
    why: str = ""
    """First lines of a test's error, or the last output of another step."""


def last_step(log: str) -> str:
    """Return the step that failed: a step of a scenario or a line announced by the Makefile, "" if neither is known."""
    molecule = _MOLECULE.search(log)
    if molecule:
        return "scenario %s, step %s" % molecule.groups()
    announced = _STEP.findall(log)
    return str(announced[-1]) if announced else ""


def failures(done: Done, events: t.Iterable[Event], log: str) -> list[Failure]:
    """Return the failed tests, or the failed step if no test failed."""
    if done.status < 0:
        return [Failure("%s: not run, since it needs %s" % (done.stage.name, ", ".join(done.stage.after)), shlex.join(["make", *done.stage.argv]))]
    tests = [event for event in events if event["kind"] == "test" and event["failed"] and event["stage"] == done.stage.name]
    if tests:
        return [Failure("%s: %s" % (event["suite"], event["name"]), event["alone"], event["why"]) for event in tests]
    step = last_step(log)
    return [Failure("%s%s" % (done.stage.name, step and ": %s" % step), shlex.join(["make", *done.stage.argv]), _end(log))]


def _end(log: str) -> str:
    """Return the last meaningful lines, without those added by make."""
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith("make")]
    return brief(lines[-WORTH_LINES:])


def words(found: t.Sequence[Failure]) -> str:
    return "\n".join("\n    ".join([failure.name, failure.command, *failure.why.splitlines()]) for failure in found)
