# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs are real here, of short processes: what they survive is the point of them."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host import _download as downloader
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import Step
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs of these tests end within a second, those of a node take minutes."""
    monkeypatch.setattr(jobs, "_LOOK_EVERY", 0.05)


class Shellless:
    """Starts processes as run_command does: with pipes, and until they are closed."""

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


def finish(root: pathlib.Path) -> jobs.State:
    found = jobs.wait("stack", 20, str(root))
    assert found is not None
    assert not found.running
    return found


def test_all_steps_in_order_with_output_in_the_log(tmp_path: pathlib.Path) -> None:
    steps = [python("one", "print('first')"), python("two", "import os; print('second', os.environ['X'])", environment=(("X", "y"),))]
    begun = jobs.start(Shellless(), "stack", steps, timeout=60, memo={"changes": ["a"]}, root=str(tmp_path))
    found = finish(tmp_path)
    assert (begun.id, found.steps, found.step, found.stage, found.rc, found.failed) == (found.id, 2, 2, "two", 0, "")
    assert found.memo == {"changes": ["a"]}
    assert not found.interrupted
    log = jobs.read_log("stack", str(tmp_path))
    assert log.index("==> one") < log.index("first") < log.index("second y")
    assert jobs.read_job("stack", str(tmp_path)) == found._replace(elapsed=jobs.read_job("stack", str(tmp_path)).elapsed)  # type: ignore[union-attr]


def test_a_step_that_tells_how_far_it_is(tmp_path: pathlib.Path) -> None:
    telling = "import os,time; open(os.environ['RDMA_OFED_PROGRESS'], 'w').write('412 of 3811 MB\\n'); time.sleep(1)"
    quiet = "import os,sys,time; print(os.path.exists(os.environ['RDMA_OFED_PROGRESS'])); time.sleep(1)"
    jobs.start(Shellless(), "stack", [python("downloading", telling), python("quiet", quiet)], timeout=60, memo={}, root=str(tmp_path))
    seen = []
    while True:
        found = jobs.wait("stack", 0.2, str(tmp_path))
        assert found is not None
        if not found.running:
            break
        seen.append((found.stage, found.detail))
    assert ("downloading", "412 of 3811 MB") in seen
    assert ("quiet", "") in seen
    assert ("quiet", "412 of 3811 MB") not in seen
    assert found.detail == ""
    assert "False" in jobs.read_log("stack", str(tmp_path))
    line = jobs.progress("node1", {**found.result(), "stage": "downloading", "detail": "412 of 3811 MB", "step": 1, "elapsed": 42})
    assert line == "node1: stage 1 of 2, downloading, 412 of 3811 MB (0:42)"


def test_a_script_of_ours_as_a_step(tmp_path: pathlib.Path) -> None:
    argv = jobs.script_argv("download.py", str(tmp_path / "x"), "sha256:0")
    environment = ((downloader.URL, "http://127.0.0.1:1/x"),)
    jobs.start(
        Shellless(),
        "stack",
        [Step("downloading", argv, environment=environment, timeout=3)],
        timeout=60,
        memo={},
        root=str(tmp_path),
        scripts={"download.py": downloader},
    )
    found = finish(tmp_path)
    assert found.failed == "downloading"
    assert "refused" in jobs.read_log("stack", str(tmp_path))


def test_nothing_after_a_failure_but_what_cleans_up(tmp_path: pathlib.Path) -> None:
    steps = [python("bad", "raise SystemExit(22)"), python("never", "print('never')"), python("clean", "print('cleaned')", always=True)]
    jobs.start(Shellless(), "stack", steps, timeout=60, memo={}, root=str(tmp_path))
    found = finish(tmp_path)
    assert (found.rc, found.failed, found.stage) == (22, "bad", "bad")
    log = jobs.read_log("stack", str(tmp_path))
    assert "cleaned" in log
    assert "print('never')" not in log


def test_statuses_that_are_no_failure_and_tools_that_are_not_there(tmp_path: pathlib.Path) -> None:
    jobs.start(
        Shellless(), "stack", [python("fine", "raise SystemExit(1)", ok=(0, 1)), Step("gone", ("/nonexistent/tool",))], timeout=60, memo={}, root=str(tmp_path)
    )
    found = finish(tmp_path)
    assert (found.rc, found.failed) == (127, "gone")


def test_a_step_without_end_is_ended_with_its_children(tmp_path: pathlib.Path) -> None:
    mark = tmp_path / "alive"
    child = "import time,sys; time.sleep(2); open(sys.argv[1], 'w')"
    code = "import subprocess,sys; subprocess.run([sys.executable, '-c', %r, %r])" % (child, str(mark))
    jobs.start(Shellless(), "stack", [python("long", code, timeout=0.5), python("clean", "pass", always=True)], timeout=60, memo={}, root=str(tmp_path))
    found = finish(tmp_path)
    assert (found.rc, found.failed) == (124, "long")
    time.sleep(2)
    assert not mark.exists()


def test_a_second_job_is_refused_while_one_runs_and_a_kill_is_seen(tmp_path: pathlib.Path) -> None:
    code = "import os,time; print(os.getppid(), flush=True); time.sleep(30)"
    jobs.start(Shellless(), "stack", [python("waiting", code)], timeout=60, memo={}, root=str(tmp_path))
    with pytest.raises(Refused, match=r"still running .stage waiting."):
        jobs.start(Shellless(), "stack", [], timeout=60, memo={}, root=str(tmp_path))
    waited = jobs.wait("stack", 0.3, str(tmp_path))
    assert waited is not None
    assert waited.running
    for _attempt in range(100):
        numbers = [line for line in jobs.read_log("stack", str(tmp_path)).splitlines() if line.isdigit()]
        if numbers:
            break
        time.sleep(0.05)
    os.kill(int(numbers[0]), signal.SIGKILL)
    killed = finish(tmp_path)
    assert (killed.interrupted, killed.stage) == (True, "waiting")
    jobs.start(Shellless(), "stack", [python("again", "pass")], timeout=60, memo={}, root=str(tmp_path))
    assert not finish(tmp_path).interrupted


def test_the_job_has_no_pipe_of_ours_and_no_input(tmp_path: pathlib.Path) -> None:
    began = time.monotonic()
    jobs.start(Shellless(), "stack", [python("asking", "import time; time.sleep(1.5); input()")], timeout=60, memo={}, root=str(tmp_path))
    assert time.monotonic() - began < 1.5
    assert finish(tmp_path).failed == "asking"


def test_with_systemd_it_is_a_unit(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    monkeypatch.setattr(jobs, "_START_PATIENCE", 0.1)
    run = Shellless(systemd=True)
    with pytest.raises(CommandFailed, match="did not start"):
        jobs.start(run, "stack", [], timeout=60, memo={}, root=str(tmp_path))
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


@pytest.mark.parametrize(("seconds", "words"), [(0, "0:00"), (130, "2:10"), (3730, "1:02:10"), (-1, "0:00")])
def test_clock(seconds: float, words: str) -> None:
    assert jobs.clock(seconds) == words


def test_progress_in_words() -> None:
    job = {"step": 3, "steps": 7, "stage": "building kernel modules", "elapsed": 130}
    assert jobs.progress("node1", job) == "node1: stage 3 of 7, building kernel modules (2:10)"
