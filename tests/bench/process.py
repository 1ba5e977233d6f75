# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs ansible-playbook and measures its time and memory."""

from __future__ import annotations

import os
import pathlib
import subprocess
import threading
import time
import typing as t

from cluster import BIN
from common import ROOT, SetupError


class Memory(threading.Thread):
    """Samples the memory of the processes of one session."""

    def __init__(self, leader: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self.leader = leader
        self.seconds = seconds
        self.main_kb = 0
        """Peak resident memory of the process that the user started."""
        self.all_kb = 0
        """Peak of all processes together; memory shared with the workers counts once."""
        self.worker_kb = 0
        """Peak of what one worker does not share with others."""
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.wait(self.seconds):
            self.main_kb = max(self.main_kb, _field(pathlib.Path("/proc/%d/status" % self.leader), "VmHWM:"))
            paths = {pid: pathlib.Path("/proc/%d/smaps_rollup" % pid) for pid in _session(self.leader)}
            self.all_kb = max(self.all_kb, sum(_field(path, "Pss:") for path in paths.values()))
            self.worker_kb = max([self.worker_kb, *(_field(path, "Private_Dirty:") for pid, path in paths.items() if pid != self.leader)])


def _session(leader: int) -> list[int]:
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == leader:
                found.append(int(entry.name))
        except OSError:  # the process ended during the scan
            continue
    return found


def _field(path: pathlib.Path, name: str) -> int:
    """Return a field in kB, 0 if the process has ended."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)


class Ended(t.NamedTuple):
    """A run."""

    status: int
    seconds: float
    cpu: float
    """User and system time of all its processes."""
    memory: Memory


def run(argv: t.Sequence[str], *, env: t.Mapping[str, str], log: pathlib.Path, ok: t.Collection[int] = (0,), sampling: float = 0.2) -> Ended:
    """Run ansible-playbook in a session of its own. `ok`: the allowed exit codes."""
    log.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(BIN / "ansible-playbook"), *argv],
            cwd=ROOT,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        memory = Memory(process.pid, sampling)
        memory.start()
        _pid, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    memory.stop.set()
    memory.main_kb = max(memory.main_kb, used.ru_maxrss if not memory.main_kb else 0)
    if process.returncode not in ok:
        raise SetupError("%s exited %d; see %s" % (argv[0], process.returncode, log))
    return Ended(process.returncode, seconds, used.ru_utime + used.ru_stime, memory)
