# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the unit tests: all of them in .venv, those of the plugins on the oldest and newest Python of the machine too."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from common import ROOT, SetupError, main, say
from pythons import extremes, installed
from virtualenvs import CONTROLLER, unit_folder


def run_units() -> None:
    env = dict(os.environ, PYTHONPATH=str(ROOT / "tests/tools"), PYTEST_PLUGINS="no_skips", PYTHONDONTWRITEBYTECODE="1")
    folders = [("3.11, everything", ROOT / ".venv")]
    found = installed()
    folders += [("%s, what runs on nodes" % python.name, unit_folder(python)) for python in extremes(found) if python.version != CONTROLLER]
    failed = []
    for title, folder in folders:
        say("unit tests on Python %s" % title)
        start = time.monotonic()
        if subprocess.call([str(folder / "bin/python"), "-m", "pytest", *(sys.argv[1:] or ["-n", "2", "tests/unit"])], cwd=ROOT, env=env):
            failed.append(title)
        print("    %.1f s" % (time.monotonic() - start), flush=True)
    if len(folders) == 1:
        say("this machine has no other supported Python than 3.11")
    if failed:
        raise SetupError("unit tests failed on Python %s" % "; ".join(failed))


if __name__ == "__main__":
    main(run_units)
