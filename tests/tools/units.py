# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the unit tests: all of them in .venv, those of the plugins on the oldest and newest Python of the machine too.

What runs on the controller also runs with the oldest ansible-core, and with the newest, which is in the environment of the newest Python. Playbooks run
with these two: the lab runs them with the one of .venv.
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

from common import JUNIT, ROOT, SetupError, main, say
from pythons import extremes, installed
from virtualenvs import CONTROLLER, OLDEST_CORE, core, unit_folder


class Suite(t.NamedTuple):
    """The tests that one environment runs."""

    name: str
    title: str
    folder: pathlib.Path
    without: tuple[str, ...] = ()
    """The lab, and what compares texts of the collection, are the same whatever a node has."""


REST = ("lab", "meta", "playbooks")


def run_units() -> None:
    """One process for each Python, all at the same time: workers of one would each import and collect everything. Python 3.11, which has most to do, gets
    two, so that no processor waits for it at the end."""
    env = dict(os.environ, PYTHONPATH=str(ROOT / "tests/tools"), PYTEST_PLUGINS="no_skips,timed")
    # Compiling all tests and plugins anew would be a tenth of the time; the sources stay free of what Python makes of them.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTHONPYCACHEPREFIX"] = str(ROOT / ".cache/pycache")
    # What Hypothesis writes down of the code, even where it keeps no examples.
    env["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".cache/hypothesis")
    for path in JUNIT.glob("unit-*.xml"):
        path.unlink()
    # Whoever names tests may name none that one of its halves has.
    named_tests = sys.argv[1:]
    suites = [Suite("3.11", "Python 3.11, %s" % ("what is named" if named_tests else "the plugins"), ROOT / ".venv", () if named_tests else REST)]
    found = installed()
    suites += [
        Suite(python.name, "Python %s, the plugins" % python.name, unit_folder(python), ("lab", "meta"))
        for python in extremes(found)
        if python.version != CONTROLLER
    ]
    if len(suites) == 1:
        say("this machine has no other supported Python than 3.11")
    if not named_tests:
        suites.insert(1, Suite("3.11-rest", "Python 3.11, texts and the lab", ROOT / ".venv", ("plugins", "playbooks")))
        title = "ansible-core %s, what runs on the controller" % OLDEST_CORE
        suites.append(Suite("core-%s" % OLDEST_CORE, title, core(OLDEST_CORE), ("lab", "meta", "plugins/module_utils", "plugins/modules")))
    failed = []
    with contextlib.ExitStack() as cleanup:
        runs: list[tuple[str, subprocess.Popen[bytes], t.IO[bytes] | None]] = []
        for suite in suites:
            # The first is watched, the others are shown when they have ended.
            output: t.IO[bytes] | None = cleanup.enter_context(tempfile.TemporaryFile()) if runs else None
            program = suite.folder / "bin/python"
            argv = [str(program), "-m", "pytest", *(named_tests or ["tests/unit"])]
            argv += ["--ignore=tests/unit/%s" % name for name in suite.without]
            named = {"RDMA_SUITE": "unit-%s" % suite.name, "RDMA_ALONE": "%s -m pytest {}" % program.relative_to(ROOT)}
            process = subprocess.Popen(argv, cwd=ROOT, env={**env, **named}, stdout=output, stderr=subprocess.STDOUT if output else None)
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
    main(run_units)
