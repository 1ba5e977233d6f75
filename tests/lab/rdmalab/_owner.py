# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose a lab is: a checkout's, and for the time of a run of tests also a process's.

A lab that was started by hand stays until its checkout takes it down. That of a run of tests may go as soon as the run has ended, however it ended.
"""

from __future__ import annotations

import enum
import os
import pathlib
import typing as t


class Owner(t.NamedTuple):
    """What a lab is labelled with."""

    checkout: str
    run: str
    """As C(run_of) makes it, "" for a lab that was started by hand."""


class Verdict(enum.Enum):
    """What a command may do with a lab."""

    OURS = "ours"
    ABANDONED = "abandoned"
    """The run that started it has ended, or the checkout is gone: anybody may take it down, and no state of it is to be relied on."""
    IN_USE = "in use"
    """By another run of tests in this checkout."""
    FOREIGN = "foreign"
    """Another checkout's, which has its inventory and topology."""


def _begun(number: int) -> str:
    """When a process began, "" if there is none: numbers come again."""
    try:
        text = pathlib.Path("/proc/%d/stat" % number).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]


def _namespace() -> str:
    """Numbers of processes mean something in here only: Docker may serve several containers of developers."""
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return ""


def run_of(number: str) -> str:
    """A name for the run whose process has that number; "" for no number, or no such process."""
    begun = _begun(int(number)) if number.isdigit() else ""
    return "%s-%s-%s" % (_namespace(), number, begun) if begun else ""


def process_of(run: str) -> str:
    """The number of its process."""
    return run.split("-")[1]


def lives(run: str) -> bool:
    """Whether its process is still there. Yes, where that can't be known."""
    return run.partition("-")[0] != _namespace() or run_of(process_of(run)) == run


def in_use(prefix: str, run: str) -> str:
    """What is said of a lab that another run of tests uses."""
    return "The lab with the prefix '%s' is in use by another run of tests, process %s. Wait for it, or end it." % (prefix, process_of(run))


def judge(lab: Owner, we: Owner, *, exists: t.Callable[[str], bool] = os.path.isdir, alive: t.Callable[[str], bool] = lives) -> Verdict:
    dead = bool(lab.run) and not alive(lab.run)
    if lab.checkout not in ("", we.checkout):
        return Verdict.ABANDONED if dead or not exists(lab.checkout) else Verdict.FOREIGN
    if dead:
        return Verdict.ABANDONED
    # Without a run, it is a person at a terminal who looks at the lab of a run, or takes it down.
    return Verdict.IN_USE if lab.run and we.run and lab.run != we.run else Verdict.OURS
