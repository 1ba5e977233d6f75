# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The owner of a lab: a checkout and, during a test run, a process.

A lab started by hand stays until its checkout takes it down. The lab of a test run may be removed once the run has ended for any reason.
"""

from __future__ import annotations

import enum
import os
import pathlib
import typing as t


class Owner(t.NamedTuple):
    """The labels of a lab."""

    checkout: str
    run: str
    """Return value of run_of; "" for a lab started by hand."""


class Verdict(enum.Enum):
    """Relation of a lab to a command, which decides what the command may do with it."""

    OURS = "ours"
    ABANDONED = "abandoned"
    """The run that started it has ended, or the checkout is gone: any command may take it down, and none may rely on its state."""
    IN_USE = "in use"
    """Used by another test run in this checkout."""
    FOREIGN = "foreign"
    """Owned by another checkout, which has its inventory and topology."""


def _begun(number: int) -> str:
    """Return the start time of a process, "" if there is none. Process IDs are reused."""
    try:
        text = pathlib.Path("/proc/%d/stat" % number).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]


def _namespace() -> str:
    """Return the PID namespace. Process IDs are valid only within it: Docker may serve several development containers."""
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return ""


def run_of(number: str) -> str:
    """Return a unique name for the run with this process ID; "" for no ID or no such process."""
    begun = _begun(int(number)) if number.isdigit() else ""
    return "%s-%s-%s" % (_namespace(), number, begun) if begun else ""


def process_of(run: str) -> str:
    """Return the process ID of a run."""
    return run.split("-")[1]


def lives(run: str) -> bool:
    """Return whether the run's process still exists; True if that cannot be determined."""
    return run.partition("-")[0] != _namespace() or run_of(process_of(run)) == run


def in_use(prefix: str, run: str) -> str:
    """Return the message about a lab that another test run uses."""
    return "The lab with the prefix '%s' is in use by another run of tests, process %s. Wait for it, or end it." % (prefix, process_of(run))


def judge(lab: Owner, we: Owner, *, exists: t.Callable[[str], bool] = os.path.isdir, alive: t.Callable[[str], bool] = lives) -> Verdict:
    dead = bool(lab.run) and not alive(lab.run)
    if lab.checkout not in ("", we.checkout):
        return Verdict.ABANDONED if dead or not exists(lab.checkout) else Verdict.FOREIGN
    if dead:
        return Verdict.ABANDONED
    # Without a run, a person at a terminal inspects the lab of a run or takes it down.
    return Verdict.IN_USE if lab.run and we.run and lab.run != we.run else Verdict.OURS


def is_left(lab: Owner, we: Owner, *, alive: t.Callable[[str], bool] = lives) -> bool:
    """Return whether a run of tests in our checkout has left the lab behind, or has it now, and is ours. Labs started by hand stay."""
    return bool(lab.run) and lab.checkout == we.checkout and (lab.run == we.run or not alive(lab.run))
