# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Start processes of an ordinary user on several nodes: as steps of a job of Slurm, or with mpirun, which uses SSH."""

from __future__ import annotations

import typing as t
import uuid

from .._errors import RdmaError
from .._finding import Code
from .._foreign import shown
from .._host._run import TIMED_OUT, failure, session_argv
from .._host._turn import look_until
from .._tools import _slurm
from .._tools._measure import last_words
from ._scripts import prelude, shell, words
from ._types import Job

if t.TYPE_CHECKING:
    from .._host._run import Output, Runner
    from ._types import Part, Setting

# Every status of a program is an answer. In a step, that of timeout(1) is one of a node.
_ANY = frozenset(range(-64, 256))
_ENDED = _ANY - {TIMED_OUT}
_COMMAND_SECONDS = 60
# Each look opens a login session on the host that submits, for each job that waits.
_PAUSE_SECONDS = 5.0
# Slurm needs some time to start a step and to end one.
_GRACE_SECONDS = 60


def as_user(run: Runner, user: str, argv: t.Sequence[str]) -> Output:
    """Run a command in a login session of the user, with the limits that PAM gives to one. Raises RdmaError where it does not end."""
    return run(session_argv(user, argv), ok=_ENDED, timeout=_COMMAND_SECONDS)


def _step_as_user(run: Runner, setting: Setting, argv: t.Sequence[str]) -> Output:
    """Likewise for a step, which ends its programs by its own time limit. A status of 124 says that it had to."""
    return run(session_argv(setting.user, argv), ok=_ANY, timeout=setting.step_seconds + _GRACE_SECONDS)


class Launcher(t.Protocol):
    """A job on some nodes."""

    def start(self) -> Job:
        """A job with a `problem` where it does not run."""

    def step(self, parts: t.Sequence[Part], script: str, *, mpi: bool = False) -> Output:
        """Run a script once on each of these nodes. A status of 124 or 137 says that it did not end in time."""

    def ended(self) -> str:
        """Why the job has ended before its time; empty where it has not, or where that can't be told."""

    def stop(self) -> str:
        """End the job. Why that failed, or an empty text."""


class SlurmJob:
    """A batch job that sleeps and thus holds the nodes. It ends by itself at its time limit."""

    def __init__(self, run: Runner, setting: Setting, parts: t.Sequence[Part], *, seconds: int) -> None:
        self._run = run
        self._setting = setting
        self._parts = parts
        self._seconds = seconds
        self._name = "%s_%s" % (_slurm.NAME, uuid.uuid4().hex[:8])
        self._id = _slurm.JobId(0)
        self._mpi = setting.mpi

    def _ask(self, argv: t.Sequence[str]) -> Output:
        return as_user(self._run, self._setting.user, argv)

    def start(self) -> Job:
        hosts = tuple(part.host for part in self._parts)
        nodes = [part.node for part in self._parts]
        try:
            output = self._ask(_slurm.submit_command(nodes, self._seconds, self._setting.options, name=self._name))
            self._id = _slurm.parse_submitted(output.stdout) if not output.rc else self._found()
        except RdmaError as exc:
            self._id = self._found()
            return self._unclear(exc.msg, hosts)
        if output.rc:
            said = last_words(output.stderr or output.stdout) or "exit status %d" % output.rc
            # A slurmctld that is busy may take a job after sbatch has given up.
            unclear = self._id.number or "timed out" in said.lower()
            return self._unclear(said, hosts) if unclear else Job(hosts, problem=said, code=Code.JOB_REFUSED.value)
        job = Job(hosts, *self._id)
        state = look_until(self._seen, lambda found: not found.waits, patience=self._setting.wait, pause=_PAUSE_SECONDS)
        if state.waits:
            problem = "%s, reason %s" % (state.name, state.reason or "not known")
            return job._replace(problem=problem, code=Code.JOB_NOT_STARTED.value)
        if state.name != _slurm.RUNNING:
            return job._replace(problem=_end(state), code=Code.JOB_ENDED.value)
        if not self._mpi:
            listed = self._ask(_slurm.mpi_types_command())
            self._mpi = _slurm.parse_mpi_types(listed.stdout + listed.stderr)
        return job

    def _found(self) -> _slurm.JobId:
        """The job that Slurm may have taken, although sbatch has not told its ID."""
        try:
            return _slurm.parse_found(self._ask(_slurm.find_command(self._setting.user, self._name)).stdout)
        except RdmaError:
            return _slurm.JobId(0)

    def _unclear(self, why: str, hosts: tuple[str, ...]) -> Job:
        search = " ".join(_slurm.find_command(self._setting.user, self._name))
        hint = "" if self._id.number else "; Slurm may still have taken the job, look for it with '%s'" % search
        return Job(hosts, *self._id, problem=why + hint, code=Code.JOB_FAILED.value)

    def _state(self) -> _slurm.State:
        """Raises RdmaError where Slurm does not tell."""
        argv = _slurm.state_command(self._id)
        output = self._ask(argv)
        if output.rc and not _slurm.is_unknown_job(output.stderr):
            raise failure(argv, output)
        return _slurm.parse_state(output.stdout)

    def _seen(self) -> _slurm.State:
        """The state of a job that may wait. A slurmctld that is busy, or restarts, answers later."""
        try:
            return self._state()
        except RdmaError as exc:
            return _slurm.State(_slurm.UNSEEN, shown(exc.msg))

    def step(self, parts: t.Sequence[Part], script: str, *, mpi: bool = False) -> Output:
        argv = _slurm.step_command(self._id, [part.node for part in parts], shell(script), mpi=self._mpi if mpi else "none")
        return _step_as_user(self._run, self._setting, argv)

    def ended(self) -> str:
        try:
            state = self._state()
        except RdmaError:
            return ""
        return "" if state.name == _slurm.RUNNING else _end(state)

    def stop(self) -> str:
        if not self._id.number:
            return ""
        try:
            output = self._ask(_slurm.cancel_command(self._id))
        except RdmaError as exc:
            return exc.msg
        return last_words(output.stderr) or "exit status %d" % output.rc if output.rc else ""


def _end(state: _slurm.State) -> str:
    return "%s%s" % (state.name or "no longer in the queue", ", reason " + state.reason if state.reason else "")


class MpirunJob:
    """No job: mpirun on the first node. It reaches the others with SSH, as the user."""

    def __init__(self, run: Runner, setting: Setting, parts: t.Sequence[Part]) -> None:
        self._run = run
        self._setting = setting
        self._parts = parts

    def start(self) -> Job:
        return Job(tuple(part.host for part in self._parts))

    def step(self, parts: t.Sequence[Part], script: str, *, mpi: bool = False) -> Output:
        if mpi:
            seconds = str(self._setting.step_seconds)
            count = str(len(parts))
            where = ["-np", count, "--host", ",".join(part.node for part in parts), "--map-by", "node"]
            script = prelude(self._setting) + words(["timeout", "--kill-after=5", seconds, "mpirun", *where, *shell(script)]) + "\n"
        return _step_as_user(self._run, self._setting, shell(script))

    def ended(self) -> str:
        return ""

    def stop(self) -> str:
        return ""
