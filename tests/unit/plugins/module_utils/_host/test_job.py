# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real jobs of short processes: the tests check what the jobs survive."""

from __future__ import annotations

import functools
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host import _download as downloader
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._host._step import Step, script_argv

LIMIT = 300
"""Seconds after which a missing event is a failure. On a working machine no test waits that long, even under load."""


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poll often: the jobs of these tests end within a second, those of a node take minutes."""
    monkeypatch.setattr(jobs, "_LOOK_EVERY", 0.05)
    monkeypatch.setattr(jobs, "_START_PATIENCE", LIMIT)


def until(*, is_so: t.Callable[[], t.Any]) -> t.Any:
    """Return the function's result as soon as it is true."""
    end = time.monotonic() + LIMIT
    while True:
        found = is_so()
        if found:
            return found
        assert time.monotonic() < end
        time.sleep(0.05)


def waiting_for(path: pathlib.Path) -> str:
    """Return Python code that continues once the file exists."""
    return "import os,time\nwhile not os.path.exists(%r): time.sleep(0.02)\n" % str(path)


class Shellless:
    """Starts processes as run_command does: with pipes, and waits until the pipes are closed."""

    def __init__(self, systemd: bool = False) -> None:
        self.systemd = systemd
        self.calls: list[list[str]] = []

    def has(self, tool: str) -> bool:
        return self.systemd

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        if argv[0] == "systemd-run":
            return Output(0, "", "")
        done = subprocess.run(argv, capture_output=True, check=True, timeout=timeout)
        return Output(done.returncode, done.stdout.decode(), done.stderr.decode())


def python(stage: str, code: str, **fields: t.Any) -> Step:
    return Step(stage, (sys.executable, "-c", code), **fields)


def numbers(root: pathlib.Path) -> list[int]:
    """Return the process IDs that steps have printed."""
    return [int(line) for line in jobs.read_log("stack", str(root)).splitlines() if line.isdigit()]


def runs(number: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    try:
        return pathlib.Path("/proc/%d/stat" % number).read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def finish(root: pathlib.Path) -> jobs.State:
    found = jobs.wait("stack", LIMIT, str(root))
    assert found is not None
    assert not found.running
    return found


def test_all_steps_in_order_with_output_in_the_log(tmp_path: pathlib.Path) -> None:
    steps = [python("one", "print('first')"), python("two", "import os; print('second', os.environ['X'])", environment=(("X", "y"),))]
    begun = jobs.start(Shellless(), "stack", steps, timeout=LIMIT, memo={"changes": ["a"]}, root=str(tmp_path))
    found = finish(tmp_path)
    assert (begun.id, found.steps, found.step, found.stage, found.rc, found.failed) == (found.id, 2, 2, "two", 0, "")
    assert found.memo == {"changes": ["a"]}
    assert not found.interrupted
    log = jobs.read_log("stack", str(tmp_path))
    assert log.index("==> one") < log.index("first") < log.index("second y")
    assert jobs.read_job("stack", str(tmp_path)) == found._replace(elapsed=jobs.read_job("stack", str(tmp_path)).elapsed)  # type: ignore[union-attr]


def test_a_step_that_tells_how_far_it_is(tmp_path: pathlib.Path) -> None:
    told, silent = tmp_path / "told", tmp_path / "silent"
    telling = "import os; open(os.environ['RDMA_OFED_PROGRESS'], 'w').write('412 of 3811 MB\\n')\n" + waiting_for(told)
    quiet = "import os; print(os.path.exists(os.environ['RDMA_OFED_PROGRESS']))\n" + waiting_for(silent)
    jobs.start(Shellless(), "stack", [python("downloading", telling), python("quiet", quiet)], timeout=LIMIT, memo={}, root=str(tmp_path))

    def seen() -> tuple[str, str]:
        found = jobs.wait("stack", 0, str(tmp_path))
        assert found is not None
        return found.stage, found.detail

    until(is_so=lambda: seen() == ("downloading", "412 of 3811 MB"))
    told.touch()
    until(is_so=lambda: seen()[0] == "quiet")
    assert seen() == ("quiet", "")
    silent.touch()
    found = finish(tmp_path)
    assert found.detail == ""
    assert "False" in jobs.read_log("stack", str(tmp_path))
    line = jobs.progress("node1", {**found.result(), "stage": "downloading", "detail": "412 of 3811 MB", "step": 1, "elapsed": 42})
    assert line == "node1: stage 1 of 2, downloading, 412 of 3811 MB (0:42)"


def test_a_script_of_ours_as_a_step(tmp_path: pathlib.Path) -> None:
    argv = script_argv("download.py", str(tmp_path / "x"), "sha256:0")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "nothing"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = ((downloader.URL, "http://127.0.0.1:%d/x" % server.server_address[1]),)
        steps = [Step("downloading", argv, environment=environment)]
        jobs.start(Shellless(), "stack", steps, timeout=LIMIT, memo={}, root=str(tmp_path), scripts={"download.py": downloader})
        found = finish(tmp_path)
        server.shutdown()
    assert found.failed == "downloading"
    assert "HTTP status 404" in jobs.read_log("stack", str(tmp_path))


def test_nothing_after_a_failure_but_what_cleans_up(tmp_path: pathlib.Path) -> None:
    steps = [python("bad", "raise SystemExit(22)"), python("never", "print('never')"), python("clean", "print('cleaned')", always=True)]
    jobs.start(Shellless(), "stack", steps, timeout=LIMIT, memo={}, root=str(tmp_path))
    found = finish(tmp_path)
    assert (found.rc, found.failed, found.stage) == (22, "bad", "bad")
    log = jobs.read_log("stack", str(tmp_path))
    assert "cleaned" in log
    assert "print('never')" not in log


def test_statuses_that_are_no_failure_and_tools_that_are_not_there(tmp_path: pathlib.Path) -> None:
    jobs.start(
        Shellless(),
        "stack",
        [python("fine", "raise SystemExit(1)", ok=(0, 1)), Step("gone", ("/nonexistent/tool",))],
        timeout=LIMIT,
        memo={},
        root=str(tmp_path),
    )
    found = finish(tmp_path)
    assert (found.rc, found.failed) == (127, "gone")


def test_a_step_without_end_is_ended_with_its_children(tmp_path: pathlib.Path) -> None:
    code = "import subprocess; child = subprocess.Popen(['sleep', '3600']); print(child.pid, flush=True); child.wait()"
    jobs.start(Shellless(), "stack", [python("long", code, timeout=2), python("clean", "pass", always=True)], timeout=LIMIT, memo={}, root=str(tmp_path))
    found = finish(tmp_path)
    assert (found.rc, found.failed) == (124, "long")
    # None if the machine was too slow to start one within the step's two seconds.
    for number in numbers(tmp_path):
        until(is_so=lambda number=number: not runs(number))


def test_a_second_job_is_refused_while_one_runs_and_a_kill_is_seen(tmp_path: pathlib.Path) -> None:
    code = "import os,time; runner = os.getppid(); print(runner, flush=True)\nwhile os.getppid() == runner: time.sleep(0.05)"
    jobs.start(Shellless(), "stack", [python("waiting", code)], timeout=LIMIT, memo={}, root=str(tmp_path))
    with pytest.raises(Refused, match=r"still running .stage waiting."):
        jobs.start(Shellless(), "stack", [], timeout=LIMIT, memo={}, root=str(tmp_path))
    waited = jobs.wait("stack", 0.3, str(tmp_path))
    assert waited is not None
    assert waited.running
    os.kill(until(is_so=lambda: numbers(tmp_path))[0], signal.SIGKILL)
    killed = finish(tmp_path)
    assert (killed.interrupted, killed.stage) == (True, "waiting")
    jobs.start(Shellless(), "stack", [python("again", "pass")], timeout=LIMIT, memo={}, root=str(tmp_path))
    assert not finish(tmp_path).interrupted


def test_the_job_has_no_pipe_of_ours_and_no_input(tmp_path: pathlib.Path) -> None:
    begun = tmp_path / "begun"
    # With a pipe to this test, this would wait for the job, which waits for the file.
    jobs.start(Shellless(), "stack", [python("asking", waiting_for(begun) + "input()")], timeout=LIMIT, memo={}, root=str(tmp_path))
    begun.touch()
    assert finish(tmp_path).failed == "asking"


def test_with_systemd_it_is_a_unit(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    monkeypatch.setattr(jobs, "_START_PATIENCE", 0.1)
    run = Shellless(systemd=True)
    with pytest.raises(CommandFailed, match="did not start"):
        jobs.start(run, "stack", [], timeout=LIMIT, memo={}, root=str(tmp_path))
    assert run.calls[0][:3] == ["systemd-run", "--unit=rdma-ofed-stack", "--collect"]
    found = jobs.read_job("stack", str(tmp_path))
    assert found is not None
    assert found.interrupted


def test_damaged_files_are_no_job(tmp_path: pathlib.Path) -> None:
    directory = tmp_path / jobs.JOBS / "stack"
    directory.mkdir(parents=True)
    assert jobs.read_job("stack", str(tmp_path)) is None
    (directory / "job.json").write_text("{", encoding="utf-8")
    assert jobs.read_job("stack", str(tmp_path)) is None
    (directory / "job.json").write_text(json.dumps({"id": "a", "steps": [], "memo": {}}), encoding="utf-8")
    (directory / "state.json").write_text("[]", encoding="utf-8")
    found = jobs.read_job("stack", str(tmp_path))
    assert found is not None
    assert found.interrupted


@pytest.mark.parametrize("job", ['{"id": "x"}', '{"id": 1, "steps": [], "memo": {}}', '{"id": "x", "steps": 1, "memo": {}}', "[" * 100000, "²"])
def test_a_record_without_its_parts_is_no_job(tmp_path: pathlib.Path, job: str) -> None:
    directory = tmp_path / jobs.JOBS / "stack"
    directory.mkdir(parents=True)
    (directory / "job.json").write_text(job, encoding="utf-8")
    (directory / "state.json").write_text('{"id": "x"}', encoding="utf-8")
    assert jobs.read_job("stack", str(tmp_path)) is None


@pytest.mark.parametrize("state", [{}, {"step": "1"}, {"finished": "now"}, {"started": None}, {"rc": True}])
def test_a_damaged_state_is_that_of_a_job_that_was_interrupted(tmp_path: pathlib.Path, state: dict[str, t.Any]) -> None:
    directory = tmp_path / jobs.JOBS / "stack"
    directory.mkdir(parents=True)
    whole = {"id": "x", "stage": "s", "failed": "", "step": 1, "rc": 0, "started": 1.0, "finished": 2.0}
    (directory / "job.json").write_text(json.dumps({"id": "x", "steps": [], "memo": {}}), encoding="utf-8")
    (directory / "state.json").write_text(json.dumps({**whole, **state} if state else {"id": "x"}), encoding="utf-8")
    found = jobs.read_job("stack", str(tmp_path))
    assert found is not None
    assert found.interrupted


@pytest.mark.parametrize(("seconds", "words"), [(0, "0:00"), (130, "2:10"), (3730, "1:02:10"), (-1, "0:00")])
def test_clock(seconds: float, words: str) -> None:
    assert jobs.clock(seconds) == words


def test_progress_in_words() -> None:
    job = {"step": 3, "steps": 7, "stage": "building kernel modules", "elapsed": 130}
    assert jobs.progress("node1", job) == "node1: stage 3 of 7, building kernel modules (2:10)"


def test_a_full_file_system_does_not_keep_a_job_from_cleaning_up(tmp_path: pathlib.Path) -> None:
    """The cause is removed, and the job reports how it ended."""
    (tmp_path / "log").symlink_to("/dev/full")
    steps = [Step("filling", ("false",)), Step("next", ("true",)), Step("cleaning up", ("touch", str(tmp_path / "cleaned")), always=True)]
    jobs.runner.save(str(tmp_path / "job.json"), jobs.job_of(steps, LIMIT, {}, identity="a"))
    jobs.runner.work(str(tmp_path))
    state = json.loads((tmp_path / "state.json").read_text(encoding="utf-8"))
    assert (state["failed"], state["rc"]) == ("filling", 1)
    assert state["finished"]
    assert (tmp_path / "cleaned").exists()
