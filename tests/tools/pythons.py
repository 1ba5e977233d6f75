# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the Pythons of this machine that the plugins must run on."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import typing as t

from common import ROOT

OLDEST = (3, 8)
"""The oldest Python that a node may have with the oldest supported ansible-core."""
NEWEST = (3, 13)


class Python(t.NamedTuple):
    """One interpreter that starts."""

    version: tuple[int, int]
    path: str

    @property
    def name(self) -> str:
        return "%d.%d" % self.version


def pyenv_folders() -> list[str]:
    """The program folders of pyenv's Pythons: its shims in PATH answer for the active versions only."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")))
    return sorted(str(folder) for folder in root.glob("versions/*/bin"))


def search_path() -> str:
    """PATH, then the folders of pyenv's Pythons, without its shims, and without .venv, which an interrupted run may have left half made."""
    own = str(ROOT / ".venv/bin")
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder != own and not folder.endswith("/shims")]
    return os.pathsep.join(folders + pyenv_folders())


def installed() -> list[Python]:
    """Every supported Python that starts here, oldest first."""
    found = []
    for minor in range(OLDEST[1], NEWEST[1] + 1):
        path = shutil.which("python3.%d" % minor, path=search_path())
        if path and subprocess.call([path, "-c", "import ssl"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            found.append(Python((3, minor), path))
    return found


def extremes(found: t.Sequence[Python]) -> list[Python]:
    """The oldest and the newest; one where they are the same."""
    return list(dict.fromkeys([found[0], found[-1]])) if found else []
