# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the unit tests in .venv. With --all, those of the plugins also run on the oldest and newest Python of the machine.

Then tests of controller code also run with the oldest ansible-core, and with the newest, which is in the environment of the newest Python. Playbook tests run
with these two only; the lab runs playbooks with the one of .venv.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing as t

import leftovers
from common import JUNIT, ROOT, SetupError, main, say
from pythons import extremes, installed
from virtualenvs import CONTROLLER, OLDEST_CORE, core, unit_folder


class Suite(t.NamedTuple):
    """The tests of one environment."""

    name: str
    title: str
    folder: pathlib.Path
    without: tuple[str, ...] = ()
    """Folders to leave out: tests of the lab and of the collection's texts do not depend on the Python of a node."""
    only: tuple[str, ...] = ("tests/unit",)


# About half of the time of all tests on one Python.
HALF = ("lab", "meta", "plugins/modules")
EVERYWHERE = "--all"


def suites_of(everywhere: bool, named: bool) -> list[Suite]:
    """The suites to run. Named tests run in one process for each environment: they may all belong to one half."""
    first = Suite("3.11", "Python 3.11, %s" % ("what is named" if named else "the plugins"), ROOT / ".venv", () if named else (*HALF, "playbooks"))
    # A process of its own, so that no core waits for the other one at the end.
    half = tuple("tests/unit/" + folder for folder in HALF)
    second = [] if named else [Suite("3.11-rest", "Python 3.11, modules, texts and the lab", ROOT / ".venv", only=half)]
    if not everywhere:
        return [first, *second]
    others = [
        Suite(python.name, "Python %s, the plugins" % python.name, unit_folder(python), ("lab", "meta"))
        for python in extremes(installed())
        if python.version != CONTROLLER
    ]
    if not others:
        say("this machine has no other supported Python than 3.11")
    title = "ansible-core %s, what runs on the controller" % OLDEST_CORE
    oldest = [] if named else [Suite("core-%s" % OLDEST_CORE, title, core(OLDEST_CORE), ("lab", "meta", "plugins/module_utils", "plugins/modules"))]
    return [first, *second, *others, *oldest]


def run_units() -> None:
    """Run one process per suite in parallel: workers of a single run would each import and collect everything."""
    env = dict(os.environ, PYTHONPATH=str(ROOT / "tests/tools"), PYTEST_PLUGINS="no_skips,timed")
    # Compiling all tests and plugins again would take a tenth of the time. The cache prefix keeps the sources free of bytecode.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTHONPYCACHEPREFIX"] = str(ROOT / ".cache/pycache")
    # Directory for Hypothesis' data about the code, which it writes even with examples disabled.
    env["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".cache/hypothesis")
    for path in JUNIT.glob("unit-*.xml"):
        path.unlink()
    everywhere = sys.argv[1:2] == [EVERYWHERE]
    named_tests = sys.argv[2:] if everywhere else sys.argv[1:]
    suites = suites_of(everywhere, bool(named_tests))
    failed = []
    with contextlib.ExitStack() as cleanup:
        runs: list[tuple[str, subprocess.Popen[bytes], t.IO[bytes] | None]] = []
        for suite in suites:
            # The first suite writes to the terminal; the output of the others is shown when they have ended.
            output: t.IO[bytes] | None = cleanup.enter_context(tempfile.TemporaryFile()) if runs else None
            program = suite.folder / "bin/python"
            argv = [str(program), "-m", "pytest", *(named_tests or suite.only)]
            argv += ["--ignore=tests/unit/%s" % name for name in suite.without]
            named = {"RDMA_SUITE": "unit-%s" % suite.name, "RDMA_ALONE": "%s -m pytest {}" % program.relative_to(ROOT)}
            process = subprocess.Popen(argv, cwd=ROOT, env={**env, **named}, stdout=output, stderr=subprocess.STDOUT if output else None)
            cleanup.callback(process.kill)
            runs.append((suite.title, process, output))
        for title, process, output in runs:
            say("unit tests with %s" % title)
            if process.wait():
                failed.append(title)
            if output:
                output.seek(0)
                shutil.copyfileobj(output, sys.stdout.buffer)
                sys.stdout.flush()
    if failed:
        raise SetupError("unit tests failed with %s" % "; ".join(failed))


if __name__ == "__main__":
    leftovers.catch_signals()
    main(run_units)
