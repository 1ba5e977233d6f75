# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs make targets, several at a time. A failure does not stop the others."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
import typing as t

import leftovers
from common import LOGS, ROOT
from schedule import LINES, Stage, blocked, choose

LISTENING = 1.0
"""Seconds after which a signal is heard at the latest."""
PATIENCE = 30.0
"""Seconds that interrupted stages have to end by themselves."""


class Done(t.NamedTuple):
    """Result of one stage."""

    stage: Stage
    status: int
    seconds: float

    @property
    def log(self) -> pathlib.Path:
        return log_of(self.stage)


def log_of(stage: Stage) -> pathlib.Path:
    return LOGS / ("stage-%s.log" % stage.name)


def _lines(process: subprocess.Popen[bytes], log: pathlib.Path) -> t.Iterator[bytes]:
    """Yield the lines that a process writes until it ends. A pipe would also wait for daemons that the process started."""
    rest = b""
    with log.open("rb") as stream:
        while True:
            ended = process.poll() is not None
            *lines, rest = (rest + stream.read()).split(b"\n")
            yield from lines
            if ended:
                yield from [rest] if rest else []
                return
            time.sleep(0.2)


def _say(line: str) -> None:
    """Print the line and its newline with one write: print() writes them separately, and another stage's line may come between."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Processes:
    """The processes of the running stages, each in a session of its own."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._ending = False

    @contextlib.contextmanager
    def running(self, process: subprocess.Popen[bytes]) -> t.Iterator[None]:
        self._processes.add(process)
        if self._ending:
            self._signal(process, signal.SIGKILL)
        yield
        self._processes.remove(process)

    def end(self, run: str) -> None:
        """Interrupt the stages, which may then take their labs down, and end what is left of the run after that."""
        self._ending = True
        for process in list(self._processes):
            self._signal(process, signal.SIGINT)
        limit = time.monotonic() + PATIENCE
        while any(process.poll() is None for process in list(self._processes)) and time.monotonic() < limit:
            time.sleep(0.1)
        leftovers.end(run.__eq__)

    @staticmethod
    def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def run_stage(stage: Stage, environ: t.Mapping[str, str], processes: Processes) -> Done:
    """Run a stage with its output on the terminal, prefixed with its name, and in build/logs."""
    start = time.monotonic()
    with log_of(stage).open("wb") as log:
        argv = ["make", "--no-print-directory", *stage.argv]
        env = {**os.environ, **environ, "RDMA_STAGE": stage.name}
        process = subprocess.Popen(argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    with processes.running(process):
        for line in _lines(process, log_of(stage)):
            _say("%-18s| %s" % (stage.name, line.decode(errors="replace").rstrip()))
    done = Done(stage, process.returncode, time.monotonic() - start)
    _say("%-18s: %s after %.0f s" % (stage.name, "FAILED" if done.status else "ok", done.seconds))
    return done


@contextlib.contextmanager
def _ended(processes: Processes, run: str) -> t.Iterator[None]:
    """On an interrupt, or an error such as a terminal that is gone, end all that the run has started."""
    try:
        yield
    except BaseException:
        leftovers.ignore_signals()
        processes.end(run)
        raise


def run_all(stages: t.Sequence[Stage], environ: t.Mapping[str, str], note: t.Callable[[Done], None] = lambda done: None) -> list[Done]:
    """Run all stages. Returns the results in the order of completion; a stage that another one's failure prevents has status -1.

    `note` is told each result at once.
    """
    run = leftovers.own()
    LOGS.mkdir(parents=True, exist_ok=True)
    waiting, ended = list(stages), list[Done]()
    running: dict[concurrent.futures.Future[Done], Stage] = {}
    begun: dict[Stage, float] = {}
    processes = Processes()
    with concurrent.futures.ThreadPoolExecutor(LINES) as pool, _ended(processes, run):
        while waiting or running:
            passed = {done.stage.name for done in ended if not done.status}
            for hopeless in blocked(waiting, {done.stage.name for done in ended if done.status}):
                waiting.remove(hopeless)
                ended.append(Done(hopeless, -1, 0.0))
            while len(running) < LINES:
                left = {stage: max(1.0, stage.seconds - (time.monotonic() - begun[stage])) for stage in running.values()}
                stage = choose(waiting, left, passed)
                if not stage:
                    break
                waiting.remove(stage)
                begun[stage] = time.monotonic()
                running[pool.submit(run_stage, stage, {**environ, leftovers.VARIABLE: run}, processes)] = stage
            # Without a limit, a signal that arrives right before the system call would be heard when a stage ends.
            for future in concurrent.futures.wait(running, timeout=LISTENING, return_when=concurrent.futures.FIRST_COMPLETED).done:
                del running[future]
                ended.append(future.result())
                note(ended[-1])
    return ended


def table(ended: t.Sequence[Done], seconds: float) -> str:
    """Return a line per stage, then the total time."""
    states = {0: "ok", -1: "not run"}
    lines = ["%-20s %-7s %6.0f s" % (done.stage.name, states.get(done.status, "FAILED"), done.seconds) for done in ended]
    return "\n".join([*lines, "%-20s %-7s %6.0f s" % ("total", "", seconds)])


def verdict(ended: t.Sequence[Done]) -> str:
    failed = sum(bool(done.status) for done in ended)
    return "%d passed, %d failed" % (len(ended) - failed, failed)
