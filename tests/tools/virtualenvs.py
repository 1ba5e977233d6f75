# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creates the virtual environments: .venv for all tools, .cache/units-X.Y for the unit tests of the plugins, .cache/core-X.Y for other controllers,
.cache/docs for the documentation site, .cache/release for the checks of the tarball."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

from common import CACHE, ROOT, SetupError, apt_install, digest, is_stamped, main, run, say
from pythons import Python, extremes, installed

CONTROLLER = (3, 11)
"""The Python that the pinned ansible-core 2.19 supports and is tested with."""

OLDEST_CORE = "2.14"
CORES = (OLDEST_CORE, "2.16")
"""Other versions in distributions. The newest version is in requirements-units.txt for the newest Python."""


def find_controller() -> Python:
    """Return the Python for .venv, which must have a working ensurepip."""
    for python in installed():
        if python.version == CONTROLLER:
            if subprocess.call([python.path, "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL):
                # Debian ships both in separate packages.
                apt_install("python3.11-venv")
            return python
    raise SetupError("no Python %d.%d found in PATH or below ~/.pyenv; the pinned tools need it" % CONTROLLER)


def make(python: Python, folder: pathlib.Path, requirements: pathlib.Path, log: str) -> None:
    """Create or update a virtual environment unless it matches these requirements."""
    stamp = folder / ".stamp"
    wanted = digest([requirements, ROOT / "requirements-constraints.txt"], os.path.realpath(python.path))
    if is_stamped(stamp, wanted):
        return
    say("installing %s for Python %s into %s (first time: some minutes)" % (requirements.name, python.name, folder.relative_to(ROOT)))
    shutil.rmtree(folder, ignore_errors=True)
    run([python.path, "-m", "venv", str(folder)], log=log)
    run([str(folder / "bin/python"), "-m", "pip", "install", "--requirement", str(requirements)], log=log)
    stamp.write_text(wanted, encoding="utf-8")


def unit_folder(python: Python) -> pathlib.Path:
    return CACHE / ("units-%s" % python.name)


def _tools(name: str) -> pathlib.Path:
    """Return the virtual environment for one purpose. Creates it if it is missing."""
    folder = CACHE / name
    make(find_controller(), folder, ROOT / ("requirements-%s.txt" % name), "venv-" + name)
    return folder


def core(version: str) -> pathlib.Path:
    """Return the virtual environment with another ansible-core. Creates it if it is missing."""
    return _tools("core-" + version)


def docs() -> pathlib.Path:
    return _tools("docs")


def release() -> pathlib.Path:
    return _tools("release")


def make_all() -> None:
    wanted = sys.argv[1:]
    if "main" in wanted:
        make(find_controller(), ROOT / ".venv", ROOT / "requirements-test.txt", "venv")
    if "units" in wanted:
        for python in extremes(installed()):
            if python.version == CONTROLLER:
                continue  # .venv provides it
            make(python, unit_folder(python), ROOT / "requirements-units.txt", "venv-units-%s" % python.name)
        core(OLDEST_CORE)


if __name__ == "__main__":
    main(make_all)
