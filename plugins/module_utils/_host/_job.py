# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Long work on a node that outlives the connection: named steps that a separate process carries out one by one."""

from __future__ import annotations

import fcntl
import inspect
import math
import os
import re
import sys
import time
import types
import typing as t
import uuid

from .._errors import CommandFailed, Refused
from .._foreign import read_table
from . import _job_runner as runner
from ._files import read_text
from ._step import SCRIPTS
from ._turn import look_until
from ._units import systemd_runs
from ._write import open_regular, replace_file

if t.TYPE_CHECKING:
    from ._run import Runner
    from ._step import Step

JOBS = "var/lib/rdma.ofed/jobs"
# There is no terminal to answer questions on, and a service can't rely on a home directory or a search path.
ENVIRONMENT: t.Mapping[str, str] = {
    "DEBIAN_FRONTEND": "noninteractive",
    "HOME": "/root",
    "LANGUAGE": "C",
    "LC_ALL": "C",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TERM": "dumb",
}
# The fields read back from the two files, with their types.
_JOB: t.Mapping[str, tuple[type, ...]] = {"id": (str,), "steps": (list,), "memo": (dict,)}
_STATE: t.Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "stage", "failed"), (str,)),
    **dict.fromkeys(("step", "rc"), (int,)),
    **dict.fromkeys(("started", "finished"), (int, float)),
}
_LOOK_EVERY = 0.5
_START_PATIENCE = 20.0
_BEGIN_EVERY = 0.05
_TAIL_BYTES = 20000
_MOST_DETAIL = 120


class State(t.NamedTuple):
    """A job in its present or final state."""

    id: str
    running: bool
    stage: str
    step: int
    steps: int
    elapsed: float
    """Seconds since it started, or its total duration."""
    finished: bool
    rc: int
    failed: str
    """The stage that failed; "" for none."""
    log: str
    memo: t.Mapping[str, t.Any]
    """Data of the caller, stored with the job."""
    detail: str = ""
    """The progress of the stage, as the step reports it; "" if it reports none."""

    @property
    def interrupted(self) -> bool:
        """Whether it ended without a final state, as after a power failure or a kill."""
        return not self.running and not self.finished

    def result(self) -> dict[str, t.Any]:
        """The state in the shape that a module returns."""
        return {
            "id": self.id,
            "running": self.running,
            "stage": self.stage,
            "detail": self.detail,
            "step": self.step,
            "steps": self.steps,
            "elapsed": math.floor(self.elapsed),
            "log": self.log,
        }


def clock(seconds: float) -> str:
    """`2:10`, `1:02:10`."""
    minutes, rest = divmod(math.floor(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return "%d:%02d:%02d" % (hours, minutes, rest) if hours else "%d:%02d" % (minutes, rest)


def progress(host: str, job: t.Mapping[str, t.Any]) -> str:
    """The progress in one line."""
    stage = ", ".join(words for words in (job["stage"] or "starting", job.get("detail")) if words)
    return "%s: stage %d of %d, %s (%s)" % (host, job["step"], job["steps"], stage, clock(job["elapsed"]))


def job_of(steps: t.Sequence[Step], timeout: float, memo: t.Mapping[str, t.Any], *, identity: str, directory: str = "") -> dict[str, t.Any]:
    """The content of `job.json`."""
    rows = [{**step._asdict(), "environment": {**ENVIRONMENT, **dict(step.environment)}} for step in steps]
    for row in rows:
        row["argv"] = [os.path.join(directory, word[len(SCRIPTS) :]) if word.startswith(SCRIPTS) else word for word in row["argv"]]
    return {"id": identity, "timeout": timeout, "memo": dict(memo), "steps": rows}


def _has_form(content: t.Mapping[str, t.Any], form: t.Mapping[str, tuple[type, ...]]) -> bool:
    return all(isinstance(content.get(key), types) and not isinstance(content.get(key), bool) for key, types in form.items())


def _locked(directory: str) -> bool:
    try:
        with open(os.path.join(directory, "lock"), encoding="utf-8") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def state_of(job: t.Mapping[str, t.Any], state: t.Mapping[str, t.Any], *, running: bool, log: str, now: float) -> State | None:
    """The state that the two files describe; None if there was no job, or if its record is damaged. Pure."""
    if not _has_form(job, _JOB):
        return None
    if not _has_form(state, _STATE) or state["id"] != job["id"]:
        # Recorded, but not started yet, or never started.
        return State(job["id"], running, "", 0, len(job["steps"]), 0, False, 0, "", log, job["memo"])
    finished = bool(state["finished"])
    elapsed = (state["finished"] or now) - state["started"]
    running = running and not finished
    return State(job["id"], running, state["stage"], state["step"], len(job["steps"]), elapsed, finished, state["rc"], state["failed"], log, job["memo"])


def read_job(name: str, root: str = "/") -> State | None:
    """The latest job with this name."""
    directory = os.path.join(root, JOBS, name)
    # Check the lock first: if the job ends in between, its final state is already written.
    running = _locked(directory)
    # A power failure during the first write, or an editor, may have damaged the files.
    job, state = (read_table(read_text("%s/%s.json" % (directory, file))) for file in ("job", "state"))
    found = state_of(job, state, running=running, log="/%s/%s/log" % (JOBS, name), now=time.time())
    if found is None or not found.running or not found.stage:
        return found
    return found._replace(detail=" ".join(read_text("%s/progress.%d" % (directory, found.step)).split())[:_MOST_DETAIL])


def read_log(name: str, root: str = "/") -> str:
    """The end of a job's log."""
    return read_end(os.path.join(root, JOBS, name, "log"), _TAIL_BYTES)


def read_end(path: str, most: int) -> str:
    """At most the last `most` bytes of a text file of root; "" for any other file, or on error. Others may be able to write to its directory."""
    try:
        with open_regular(path, owned=True) as stream:
            stream.seek(max(os.fstat(stream.fileno()).st_size - most, 0))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _launch(run: Runner, name: str, directory: str, *, script: str, root: str) -> None:
    python = sys.executable or "/usr/bin/python3"
    if systemd_runs(root) and run.has("systemd-run"):
        # The end of a session kills its processes; a separate unit belongs to no session.
        unit = ["systemd-run", "--unit=rdma-ofed-" + name, "--collect", "--quiet", "--property=KillMode=mixed", "--description=rdma.ofed: " + name]
        run([*unit, "--", python, script, directory])
    else:
        # setsid --fork does not wait. Its streams must be closed, or the runner would wait for their end forever.
        run(["setsid", "--fork", python, "-c", _DETACH, python, script, directory])


_DETACH = "import os,sys;n=os.open(os.devnull,os.O_RDWR);[os.dup2(n,f) for f in (0,1,2)];os.closerange(3,256);os.execv(sys.argv[1],sys.argv[1:])"


def start(
    run: Runner,
    name: str,
    steps: t.Sequence[Step],
    *,
    timeout: float,
    memo: t.Mapping[str, t.Any],
    root: str = "/",
    scripts: t.Mapping[str, types.ModuleType] | None = None,
) -> State:
    """Start a job; none may be running. Returns when it has started, not when it has ended.

    `scripts`: modules that steps run as separate scripts, by the names used with script_argv.
    """
    if not re.match(r"^[a-z0-9-]+\Z", name):
        raise ValueError(name)
    directory = os.path.join(root, JOBS, name)
    found = read_job(name, root)
    if found is not None and found.running:
        raise Refused("the job %s is still running (stage %s); wait until it ends. Its log is %s" % (name, found.stage, found.log))
    os.makedirs(directory, mode=0o700, exist_ok=True)
    identity = uuid.uuid4().hex
    script = os.path.join(directory, "runner.py")
    for file, content in {"runner.py": runner, **(scripts or {})}.items():
        replace_file(os.path.join(directory, file), inspect.getsource(content).encode(), 0o600)
    log = os.path.join(directory, "log")
    if os.path.exists(log):
        os.replace(log, log + ".old")
    runner.save(os.path.join(directory, "job.json"), job_of(steps, timeout, memo, identity=identity, directory=directory))
    _launch(run, name, directory, script=script, root=root)

    def has_begun(state: State | None) -> bool:
        return state is not None and state.id == identity and bool(state.stage or state.finished)

    found = look_until(lambda: read_job(name, root), has_begun, patience=_START_PATIENCE, pause=_BEGIN_EVERY)
    if found is not None and has_begun(found):
        return found
    raise CommandFailed("the job %s did not start within %d s. Its log, if any, is in /%s/%s" % (name, _START_PATIENCE, JOBS, name))


def wait(name: str, seconds: float, root: str = "/") -> State:
    """Wait at most `seconds` for the end of a job. Raises CommandFailed where there is no such job."""

    def look() -> State:
        found = read_job(name, root)
        if found is None:
            raise CommandFailed("the job %s has disappeared from /%s" % (name, JOBS))
        return found

    return look_until(look, lambda found: not found.running, patience=seconds, pause=_LOOK_EVERY)
