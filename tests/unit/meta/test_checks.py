# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The runner of the checks: the order of stages, its report of failures, and the breakdown of the time."""

from __future__ import annotations

import collections.abc
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import typing as t

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/tools"))

import checks
import failures
import leftovers
import memory
import sanity
import stages
import timing
from common import SetupError
from schedule import LINES, Stage, blocked, choose, part_of
from stages import Done


def simulate(todo: t.Sequence[Stage]) -> tuple[list[str], float]:
    """Return the order in which the stages start, and the time when the last one ends."""
    waiting, order, now = list(todo), list[str](), 0.0
    running: dict[Stage, float] = {}
    passed: set[str] = set()
    while waiting or running:
        while len(running) < LINES and (stage := choose(waiting, running, passed)):
            waiting.remove(stage)
            order.append(stage.name)
            running[stage] = stage.seconds
        ended = min(running, key=lambda stage: running[stage])
        took = running.pop(ended)
        now, running = now + took, {stage: left - took for stage, left in running.items()}
        passed.add(ended.name)
    return order, now


def test_cheapest_first_but_the_longest_in_time() -> None:
    todo = [Stage("s%d" % seconds, (), seconds) for seconds in (500, 100, 300, 400, 200)]
    order, end = simulate(todo)
    assert order[0] == "s100"
    assert end == 800


def test_stages_with_the_same_lab_are_one_chain() -> None:
    todo = [Stage("a", (), 100, "x"), Stage("b", (), 100, "x"), Stage("c", (), 100, "x"), Stage("d", (), 120), Stage("e", (), 120)]
    _order, end = simulate(todo)
    assert end == 300


def test_what_comes_after_another_waits_and_later_parts_come_last() -> None:
    todo = [Stage("late", (), 1, part=1), Stage("second", (), 1, after=("first",)), Stage("first", (), 100)]
    assert simulate(todo)[0] == ["first", "late", "second"]


def test_without_what_they_need_stages_are_not_run() -> None:
    todo = [Stage("image", (), 1, after=("collection",)), Stage("lab", (), 1, after=("image",)), Stage("alone", (), 1)]
    assert [stage.name for stage in blocked(todo, {"collection"})] == ["image", "lab"]


def test_all_stages_run_whatever_fails(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(stages, "LOGS", tmp_path / "logs")
    # A process that a stage leaves behind keeps its output open.
    bad = "@echo '==> here'; sleep 3600 & echo $$! >%s; exit 3" % (tmp_path / "daemon")
    (tmp_path / "Makefile").write_text("fine:\n\t@echo $$RDMA_STAGE $$MORE\nbad:\n\t%s\n" % bad, encoding="utf-8")
    make = ("-f", str(tmp_path / "Makefile"))
    todo = [
        Stage("bad", (*make, "bad"), 1),
        Stage("never", (*make, "fine"), 2, after=("bad",)),
        *(Stage("s%d" % number, (*make, "fine"), number, "lab" if number < 5 else "") for number in range(3, 7)),
    ]
    ended = {done.stage.name: done for done in stages.run_all(todo, {"MORE": "said"})}
    os.kill(int((tmp_path / "daemon").read_text(encoding="utf-8")), signal.SIGKILL)
    assert {name: bool(done.status) for name, done in ended.items()} == {"bad": True, "never": True, "s3": False, "s4": False, "s5": False, "s6": False}
    assert ended["never"].status == -1
    assert ended["s3"].log.read_text(encoding="utf-8") == "s3 said\n"
    assert "s3                | s3 said\n" in capfd.readouterr().out
    assert failures.failures(ended["bad"], [], ended["bad"].log.read_text(encoding="utf-8"))[0].name == "bad: here"


RUNNER = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import leftovers, stages
from schedule import Stage

stages.LOGS, stages.PATIENCE, leftovers.SECONDS = pathlib.Path.cwd() / "logs", float(sys.argv[2]), 0.5
leftovers.catch_signals()
stages.run_all([Stage(name, ("-f", str(pathlib.Path.cwd() / "Makefile"), name), 1) for name in sys.argv[3:]], {})
"""
# The one ends by itself when it is interrupted. It sleeps only briefly: a signal that arrives right before a system call waits until that call returns. The
# other ignores all signals, and has a child in a session of its own, as Ansible and QEMU have.
KIND = """
import os, signal, time

def take_down(*_):
    open("took its lab down", "w").close()
    os._exit(1)

signal.signal(signal.SIGINT, take_down)
open("kind", "w").close()
while True:
    time.sleep(0.05)
"""
STUBBORN = """
import os, signal, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if not os.fork():
    os.setsid()
    open("detached", "w").close()
else:
    open("stubborn", "w").close()
time.sleep(3600)
"""


def in_background() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def of(run: subprocess.Popen[str]) -> list[int]:
    return leftovers.processes(lambda name: name.split()[1] == str(run.pid))


Start = t.Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: pathlib.Path) -> collections.abc.Iterator[Start]:
    """Return a function that starts a run with stages of long duration, with SIGINT ignored, as in a background job of a script."""
    for name, text in (("kind", KIND), ("stubborn", STUBBORN)):
        (tmp_path / (name + ".py")).write_text(text, encoding="utf-8")
    (tmp_path / "Makefile").write_text("%%:\n\t@cd %s && %s $@.py\n" % (tmp_path, sys.executable), encoding="utf-8")
    runs: list[subprocess.Popen[str]] = []

    def start(patience: float, *names: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-c", RUNNER, str(ROOT / "tests/tools"), str(patience), *names]
        run = subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", preexec_fn=in_background)
        runs.append(run)
        while not all((tmp_path / name).exists() for name in (*names, *(["detached"] if "stubborn" in names else []))):
            assert run.poll() is None, run.communicate()
            time.sleep(0.05)
        return run

    yield start
    for run in runs:
        run.kill()
        run.wait()
        for number in of(run):
            os.kill(number, signal.SIGKILL)


@pytest.mark.parametrize(("patience", "name"), [(600, "kind"), (0.2, "stubborn")])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_by_a_signal_leaves_no_process(tmp_path: pathlib.Path, start: Start, number: signal.Signals, patience: float, name: str) -> None:
    run = start(patience, name)
    assert len(of(run)) >= 2
    # make passes a signal on that its process group has got already, and people repeat theirs.
    while run.poll() is None:
        run.send_signal(number)
        time.sleep(0.005)
    output = run.communicate()[0]
    assert run.returncode, output
    assert of(run) == []
    assert (tmp_path / "took its lab down").exists() == (name == "kind")


TWICE = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import leftovers

leftovers.catch_signals()
try:
    os.kill(os.getpid(), signal.SIGTERM)
except KeyboardInterrupt:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(os.getpid(), number)
    print("cleaned")
"""


def test_no_second_signal_interrupts_the_cleaning_at_its_beginning() -> None:
    argv = [sys.executable, "-c", TWICE, str(ROOT / "tests/tools")]
    assert subprocess.run(argv, capture_output=True, encoding="utf-8", check=False).stdout == "cleaned\n"


def test_the_next_run_ends_what_a_killed_run_has_left(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "SECONDS", 0.2)
    run = start(600, "kind", "stubborn")
    (name,) = {leftovers.run_of(number) for number in of(run)}
    assert not leftovers.is_abandoned(name)
    run.kill()
    run.wait()
    assert of(run)
    assert leftovers.is_abandoned(name)
    leftovers.end(lambda found: found == name and leftovers.is_abandoned(found))
    assert of(run) == []


def test_a_run_of_another_checkout_or_one_that_lives_is_not_abandoned() -> None:
    own = leftovers.own()
    assert not leftovers.is_abandoned(own)
    assert leftovers.is_abandoned(own + "0")
    assert not leftovers.is_abandoned("/elsewhere" + own + "0")


@pytest.mark.parametrize("name", sorted(checks.CHECKS))
def test_all_stages_of_a_check_run_once_in_lines_of_about_the_same_length(name: str) -> None:
    todo = checks.CHECKS[name]
    order, end = simulate(todo)
    assert sorted(order) == sorted({stage.name for stage in todo})
    alone, beside = ([stage for stage in todo if stage.alone == which] for which in (True, False))
    chains = [sum(stage.seconds for stage in beside if stage.lab == lab) for lab in {stage.lab for stage in beside} - {""}]
    assert end <= sum(stage.seconds for stage in alone) + 1.25 * max(sum(stage.seconds for stage in beside) / LINES, *chains)


def test_a_stage_that_runs_alone_has_no_other_beside_it() -> None:
    todo = [Stage("a", (), 100), Stage("alone", (), 10, alone=True), Stage("b", (), 100), Stage("also", (), 20, alone=True)]
    assert simulate(todo)[1] == 130
    assert choose([todo[1]], {todo[0]: 5}, ()) is None
    assert choose([todo[0]], {todo[1]: 5}, ()) is None


SLICES = 7
LIMIT = 75 * 60


def test_each_slice_of_everything_fits_into_its_time() -> None:
    slices = [checks.chosen("nightly", "%d/%d" % (number, SLICES)) for number in range(1, SLICES + 1)]
    base = [stage for stage in slices[0] if all(stage in other for other in slices)]
    assert [stage.name for stage in base] == ["collection", "image"]
    rest = [stage for chosen in slices for stage in chosen if stage not in base]
    assert sorted([*base, *rest]) == sorted(checks.CHECKS["nightly"])
    lengths = [simulate(chosen)[1] for chosen in slices]
    assert max(lengths) <= LIMIT * 0.75
    assert max(lengths) - min(lengths) <= 0.25 * max(lengths)


def test_slices_do_not_depend_on_the_order_of_the_table() -> None:
    todo = checks.CHECKS["nightly"]
    for number in range(1, SLICES + 1):
        assert set(part_of(todo, number, SLICES)) == set(part_of(todo[::-1], number, SLICES))


@pytest.mark.parametrize("part", ["0/4", "5/4", "1", "a/b", "1/0", "-1/2"])
def test_what_is_no_slice_is_refused(part: str) -> None:
    with pytest.raises(SetupError, match="is not a slice"):
        checks.chosen("nightly", part)


def test_a_slice_goes_on_where_a_killed_run_stopped(tmp_path: pathlib.Path) -> None:
    base, one, two = Stage("base", (), 1), Stage("one", (), 1, after=("base",)), Stage("two", (), 1, after=("base",))
    junit = tmp_path / "junit"
    junit.mkdir()

    def remembered(commit: str = "abc", fresh: bool = False) -> memory.Memory:
        return memory.Memory(commit, fresh, folder=tmp_path, junit=junit)

    first = remembered()
    assert first.left([base, one, two]) == [base, one, two]
    (junit / "a.1.xml").write_text(JUNIT_FILE, encoding="utf-8")
    for done in (Done(base, 0, 1.0), Done(one, 0, 1.0), Done(two, 2, 1.0)):
        first.note(done)
    (junit / "a.1.xml").unlink()
    again = remembered()
    assert again.left([base, one, two]) == [base, two]
    assert again.left([base, one]) == []
    assert again.tests == first.tests
    assert again.tests["tests/test_a.py::test_it"].result == "passed"
    # Another commit, a changed working tree, and a run that repeats all.
    for other in (remembered("def"), remembered(""), remembered(fresh=True)):
        assert other.left([base, one]) == [base, one]


JUNIT_FILE = """<testsuites><testsuite timestamp="2026-11-25T02:00:00"><properties><property name="RDMA_COMMIT" value="abc"/></properties>
<testcase classname="tests.test_a" name="test_it" time="1"/></testsuite></testsuites>"""


def test_every_stage_is_a_target_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    todo = {stage.name: stage for check in checks.CHECKS.values() for stage in check}.values()
    targets = {name for line in re.findall(r"^([\w% -]+):(?!=)", makefile, re.MULTILINE) for name in line.split()}
    for stage in todo:
        assert stage.argv[0] in targets or ("molecule-%" in targets and (ROOT / "molecule" / stage.argv[0][len("molecule-") :]).is_dir()), stage


def test_every_scenario_and_all_tests_on_machines_are_in_a_check() -> None:
    known = {word for stage in checks.CHECKS["nightly"] for word in stage.argv}
    assert "report-test" in known
    assert not [path.name for path in (ROOT / "molecule").iterdir() if path.is_dir() and "molecule-" + path.name not in known]
    files = [path for path in (ROOT / "tests/acceptance_vm").glob("test_*.py") if "mark.quick" not in path.read_text(encoding="utf-8")]
    assert not [path.name for path in files if "TEST=tests/acceptance_vm/%s" % path.name not in known]


LINT = Done(Stage("lint", ("lint",), 1), 2, 3.0)
SCENARIO = Done(Stage("molecule-x", ("molecule-x",), 1), 2, 3.0)
FAILED = {"kind": "test", "stage": "lint", "suite": "unit-3.8", "name": "tests/unit/test_x.py::test_y[a b]", "seconds": 0.1, "failed": True}
FAILED.update(why="assert 1 == 2", alone="run it")


@pytest.mark.parametrize(
    ("done", "events", "log", "name", "command", "why"),
    [
        (LINT, [FAILED], "==> ruff\n", "unit-3.8: tests/unit/test_x.py::test_y[a b]", "run it", "assert 1 == 2"),
        (
            LINT,
            [{**FAILED, "stage": "unit"}, {**FAILED, "failed": False}],
            "==> yamllint\n==> ruff\nE501\n",
            "lint: ruff",
            "make lint",
            "==> yamllint\n==> ruff\nE501",
        ),
        (LINT, [], "make: *** [lint] Error 1\n", "lint", "make lint", ""),
        (
            SCENARIO,
            [],
            "==> molecule test -s x\nINFO     [x > create] Executing\nINFO     [x > create] Executed: Successful\nINFO     [x > converge] Executing\n"
            "CRITICAL Ansible return code was 2, command was: ansible-playbook\nERROR    [x > converge] \x1b[31mExecuted: Failed\x1b[0m\n"
            "INFO     [x > destroy] Executing\nERROR    Molecule executed 1 scenario (1 failed)\n",
            "molecule-x: scenario x, step converge",
            "make molecule-x",
            "...",
        ),
        (
            SCENARIO._replace(status=-1, stage=SCENARIO.stage._replace(after=("image",))),
            [],
            "",
            "molecule-x: not run, since it needs image",
            "make molecule-x",
            "",
        ),
    ],
)
def test_a_failure_names_what_failed_and_the_command(done: Done, events: list[timing.Event], log: str, name: str, command: str, why: str) -> None:
    (found,) = failures.failures(done, events, log)
    assert found[:2] == (name, command)
    assert found.why == why or (why == "..." and found.why.splitlines()[-1] == "ERROR    Molecule executed 1 scenario (1 failed)")


LAB_FAILS = """
import os, pytest

@pytest.fixture
def lab():
    os.write(2, b"   1.0 s  building the image\\nlab: 'docker build' failed. It said last:\\n  no space left on device\\n")
    raise ValueError("lab up exited 1: ")

def test_it(lab):
    pass
"""
REGISTERS = "import timed\n\ndef pytest_configure(config):\n    config.pluginmanager.register(timed.Times())\n"


def test_what_a_lab_says_before_it_fails_reaches_the_end_of_a_run(tmp_path: pathlib.Path) -> None:
    (tmp_path / "conftest.py").write_text(REGISTERS, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(LAB_FAILS, encoding="utf-8")
    # Without the suite of this test: its plugin would write a second event and a JUnit file.
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "RDMA_"))}
    env = {**outer, "PYTHONPATH": str(ROOT / "tests/tools"), timing.VARIABLE: str(tmp_path / "times.jsonl")}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    assert subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=False).returncode == 1
    (event,) = timing.read(tmp_path / "times.jsonl")
    assert event["why"].splitlines() == [
        "ValueError: lab up exited 1:",
        "1.0 s  building the image",
        "lab: 'docker build' failed. It said last:",
        "no space left on device",
    ]


def test_what_is_said_at_the_end() -> None:
    ended = [LINT, Done(Stage("unit", ("unit",), 1), 0, 61.0), SCENARIO._replace(status=-1, seconds=0.0)]
    lines = stages.table(ended, 64.0).splitlines()
    assert [line.split()[:2] for line in lines] == [["lint", "FAILED"], ["unit", "ok"], ["molecule-x", "not"], ["total", "64"]]
    assert stages.verdict(ended) == "1 passed, 2 failed"
    assert failures.words([failures.Failure("a", "make a", "b\nc")]) == "a\n    make a\n    b\n    c"


def test_where_the_time_went(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "times.jsonl"
    for number in range(timing.SLOWEST + 5):
        timing.append({"kind": "test", "suite": "unit-3.11", "name": "t%d" % number, "seconds": number}, {timing.VARIABLE: str(path)})
    for seconds in (1.5, 2.6):
        timing.append({"kind": "play", "name": "site", "seconds": seconds}, {timing.VARIABLE: str(path)})
    timing.append({"kind": "play", "name": "unrecorded", "seconds": 1}, {})
    text = timing.table(timing.read(path))
    slowest = [line.split() for line in text.splitlines() if "unit-3.11" in line]
    assert [words[-1] for words in slowest] == ["t%d" % number for number in range(24, 4, -1)]
    counts = {line[:24].strip(): line[24:].split() for line in text.splitlines()}
    assert (counts["playbook runs"], counts["lab starts"]) == (["2", "4"], ["0", "0"])
    assert timing.read(tmp_path / "none") == []


def test_sanity_of_the_quick_and_the_other_checks_is_all_of_it() -> None:
    pythons, ends = ["3.8", "3.9", "3.10", "3.13"], ["3.8", "3.13"]
    assert sanity.arguments("sanity", pythons, ends) == []
    assert sanity.arguments("sanity-quick", pythons, ends) == ["--target-python", "3.8", "--target-python", "3.13"]
    rest = sanity.arguments("sanity-rest", pythons, ends)
    assert rest == ["--test", "compile", "--test", "import", "--target-python", "3.9", "--target-python", "3.10"]
    assert sanity.alone("pep8") == "make sanity SANITY_ARGS='--test pep8'"
    assert sanity.alone("import-python-3.8") == "make sanity SANITY_ARGS='--test import --python 3.8'"
