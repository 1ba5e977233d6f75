# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ends what a run of checks has started: its processes, whatever their session and parent, and its labs.

All processes of a run have its name in the environment variable RDMA_RUN. Sessions and process groups do not tell: workers of Ansible, connections of ssh and
virtual machines have sessions of their own. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import time
import typing as t

from common import ROOT

VARIABLE = "RDMA_RUN"
SECONDS = 10.0
"""Time that processes have to end after a SIGTERM."""
_PROC = pathlib.Path("/proc")


def _begun(number: int | str) -> str:
    """Return the start time of a process, "" if there is none. Process IDs are reused."""
    try:
        return (_PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def own() -> str:
    """Return the name of the run whose runner is this process."""
    return "%s %d %s" % (ROOT, os.getpid(), _begun(os.getpid()))


def is_abandoned(run: str) -> bool:
    """Return whether this is a run of this checkout whose runner has ended."""
    root, number, begun = run.rsplit(" ", 2)
    return root == str(ROOT) and _begun(number) != begun


def run_of(number: int | str) -> str:
    """Return the name of the run that a process belongs to, "" if it belongs to none."""
    prefix = VARIABLE.encode() + b"="
    try:
        words = (_PROC / str(number) / "environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((os.fsdecode(word[len(prefix) :]) for word in words if word.startswith(prefix)), "")


def processes(wanted: t.Callable[[str], bool]) -> list[int]:
    """Return the processes of the wanted runs. Those of other containers with the same paths do not count: their process IDs are not comparable."""
    found = []
    for path in _PROC.glob("[0-9]*"):
        run = run_of(path.name)
        if run and wanted(run) and int(path.name) != os.getpid():
            with contextlib.suppress(OSError):
                if os.readlink(path / "ns/pid") == os.readlink("/proc/self/ns/pid"):
                    found.append(int(path.name))
    return found


def end(wanted: t.Callable[[str], bool]) -> None:
    """End all processes of the wanted runs, those that ignore SIGTERM with SIGKILL, and wait until they are gone."""
    _send(processes(wanted), signal.SIGTERM)
    limit = time.monotonic() + SECONDS
    while found := processes(wanted):
        if time.monotonic() > limit:
            _send(found, signal.SIGKILL)
        time.sleep(0.1)


def _send(numbers: t.Iterable[int], what: signal.Signals) -> None:
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, what)


def end_labs() -> None:
    """Take down the labs of the run whose runner is this process, and those of this checkout that earlier runs have abandoned."""
    python = ROOT / ".venv/bin/python"
    if python.exists():
        env = {**os.environ, "RDMALAB_RUN": str(os.getpid())}
        subprocess.call([str(python), str(ROOT / "tests/lab/lab"), "sweep"], cwd=ROOT, env=env, stdin=subprocess.DEVNULL)


def _interrupt(_number: int, _frame: t.Any) -> None:
    # A second KeyboardInterrupt would interrupt whoever handles the first, and make passes a signal on that the terminal has sent to all.
    ignore_signals()
    raise KeyboardInterrupt


def catch_signals() -> None:
    """Turn the signals that end a run into KeyboardInterrupt.

    SIGINT is among them: a run in the background inherits that it is ignored, and so would all that it starts.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)


def ignore_signals() -> None:
    """Let nothing but SIGKILL interrupt the cleaning, which takes less than a minute."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
