# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carry out the steps of a job on the node, detached from any connection. Runs as a script of its own, without Ansible.

`python _job_runner.py DIRECTORY` reads `job.json` there, updates `state.json` and appends all output to `log`.
A step may write its progress, one line, to the file that the environment variable `RDMA_OFED_PROGRESS` names.
The process that holds the lock on `lock` is the job: the kernel releases the lock however the process ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import typing as t

# Without Ansible, there is no run_command.
# pylint: disable=ansible-bad-function

TIMED_OUT = 124
NOT_EXECUTABLE = 126
NOT_STARTED = 127
PROGRESS = "RDMA_OFED_PROGRESS"
_GRACE_SECONDS = 10


def save(path: str, content: t.Mapping[str, t.Any]) -> None:
    """Write JSON to a temporary file and rename it: a reader sees the old or the new file, even after a power failure."""
    temporary = path + ".new"
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(content, stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.rename(temporary, path)


def _note(log: t.IO[bytes], text: str) -> None:
    """Write to the log, ignoring errors: on a full file system, the steps that free space have yet to run."""
    with contextlib.suppress(OSError):
        log.write(text.encode("utf-8", "surrogateescape"))


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(_GRACE_SECONDS)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def perform(step: t.Mapping[str, t.Any], log: t.IO[bytes], limit: float) -> int:
    """Run one step with an empty standard input. Returns its exit status, or TIMED_OUT after `limit` seconds."""
    _note(log, "\n==> %s: %s\n" % (step["stage"], " ".join(step["argv"])))
    environment = {**os.environ, **step["environment"]}
    try:
        process = subprocess.Popen(
            step["argv"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=step["directory"] or "/", start_new_session=True
        )
    except OSError as exc:
        _note(log, "%s\n" % exc)
        return NOT_EXECUTABLE if isinstance(exc, PermissionError) else NOT_STARTED
    try:
        return process.wait(max(limit, 0.01))
    except subprocess.TimeoutExpired:
        _stop(process)
        _note(log, "ended after %d s\n" % limit)
        return TIMED_OUT


def _forget(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def work(directory: str) -> None:
    """Run the steps until one fails, and in any case those marked `always`, so that nothing stays mounted."""
    with open(os.path.join(directory, "job.json"), encoding="utf-8") as stream:
        job = json.load(stream)
    path = os.path.join(directory, "state.json")
    started = time.time()
    end = time.monotonic() + job["timeout"]
    state: dict[str, t.Any] = {"id": job["id"], "started": started, "finished": 0, "rc": 0, "failed": "", "stage": "", "step": 0}
    with open(os.path.join(directory, "log"), "ab", buffering=0) as log:
        for number, step in enumerate(job["steps"], 1):
            if state["failed"] and not step["always"]:
                continue
            # One file per step, so that the progress of one step is not shown for the next.
            progress = os.path.join(directory, "progress.%d" % number)
            _forget(progress)
            if not state["failed"]:
                state.update(stage=step["stage"], step=number)
                save(path, state)
            # Clean-up steps get a minute even after the time limit.
            left = end - time.monotonic()
            limit = min(step["timeout"] or left, max(left, 60) if step["always"] else left)
            rc = perform({**step, "environment": {**step["environment"], PROGRESS: progress}}, log, limit)
            _forget(progress)
            if rc not in step["ok"] and not state["failed"]:
                state.update(rc=rc, failed=step["stage"])
        with contextlib.suppress(OSError):
            os.fsync(log.fileno())
    state.update(finished=time.time())
    save(path, state)


def main() -> None:
    directory = sys.argv[1]
    with open(os.path.join(directory, "lock"), "a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit("another job runs") from None
        work(directory)


if __name__ == "__main__":
    main()
