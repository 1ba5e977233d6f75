# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the unit tests: all of them in .venv, those of the plugins on the oldest and newest Python of the machine too."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import typing as t

from common import JUNIT, ROOT, SetupError, main, say
from pythons import extremes, installed
from virtualenvs import CONTROLLER, unit_folder


def run_units() -> None:
    """One process for each Python, all at the same time: workers of one would each import and collect everything."""
    env = dict(os.environ, PYTHONPATH=str(ROOT / "tests/tools"), PYTEST_PLUGINS="no_skips,timed")
    # Compiling all tests and plugins anew would be a tenth of the time; the sources stay free of what Python makes of them.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTHONPYCACHEPREFIX"] = str(ROOT / ".cache/pycache")
    # What Hypothesis writes down of the code, even where it keeps no examples.
    env["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".cache/hypothesis")
    for path in JUNIT.glob("unit-*.xml"):
        path.unlink()
    folders = [("3.11", "everything", ROOT / ".venv")]
    found = installed()
    folders += [(python.name, "what runs on nodes", unit_folder(python)) for python in extremes(found) if python.version != CONTROLLER]
    failed = []
    with contextlib.ExitStack() as cleanup:
        runs: list[tuple[str, subprocess.Popen[bytes], t.IO[bytes] | None]] = []
        for version, what, folder in folders:
            # The first is watched, the others are shown when they have ended.
            output: t.IO[bytes] | None = cleanup.enter_context(tempfile.TemporaryFile()) if runs else None
            program = folder / "bin/python"
            argv = [str(program), "-m", "pytest", *(sys.argv[1:] or ["tests/unit"])]
            # The lab, and what compares texts of the collection, are the same whatever a node has.
            argv += ["--ignore=tests/unit/lab", "--ignore=tests/unit/meta"] if runs else []
            named = {"RDMA_SUITE": "unit-%s" % version, "RDMA_ALONE": "%s -m pytest {}" % program.relative_to(ROOT)}
            process = subprocess.Popen(argv, cwd=ROOT, env={**env, **named}, stdout=output, stderr=subprocess.STDOUT if output else None)
            runs.append(("%s, %s" % (version, what), process, output))
        for title, process, output in runs:
            say("unit tests on Python %s" % title)
            if process.wait():
                failed.append(title)
            if output:
                output.seek(0)
                shutil.copyfileobj(output, sys.stdout.buffer)
                sys.stdout.flush()
    if len(folders) == 1:
        say("this machine has no other supported Python than 3.11")
    if failed:
        raise SetupError("unit tests failed on Python %s" % "; ".join(failed))


if __name__ == "__main__":
    main(run_units)
