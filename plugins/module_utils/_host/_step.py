# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a job. Pure."""

from __future__ import annotations

import sys
import typing as t

SCRIPTS = "{job}/"


class Step(t.NamedTuple):
    """One process of a job."""

    stage: str
    """What it does, for progress reports: `building kernel modules`."""
    argv: tuple[str, ...]
    """The command. An argument that begins with SCRIPTS is a script that comes with the job."""
    ok: tuple[int, ...] = (0,)
    environment: tuple[tuple[str, str], ...] = ()
    timeout: float = 0
    """Seconds; 0 means the time limit of the job."""
    always: bool = False
    """Whether it runs even after an earlier step has failed."""
    directory: str = "/"


def script_argv(name: str, *arguments: str) -> tuple[str, ...]:
    """The command line of a script that comes with the job, with the interpreter of this process."""
    return (sys.executable or "/usr/bin/python3", SCRIPTS + name, *arguments)
