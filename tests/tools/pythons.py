# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the Pythons on this machine that the plugins must support."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import typing as t

from common import ROOT

OLDEST = (3, 8)
"""Oldest Python of a node that the oldest supported ansible-core allows."""
NEWEST = (3, 13)


class Python(t.NamedTuple):
    """A working interpreter."""

    version: tuple[int, int]
    path: str

    @property
    def name(self) -> str:
        return "%d.%d" % self.version


def pyenv_folders() -> list[str]:
    """Return the bin directories of pyenv's Pythons: its shims in PATH cover the active versions only."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")))
    return sorted(str(folder) for folder in root.glob("versions/*/bin"))


def search_path() -> str:
    """Return PATH without pyenv's shims and .venv (which an interrupted run may have left incomplete), then the directories of pyenv's Pythons."""
    own = str(ROOT / ".venv/bin")
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder != own and not folder.endswith("/shims")]
    return os.pathsep.join(folders + pyenv_folders())


def installed() -> list[Python]:
    """Return every supported and working Python, oldest first."""
    found = []
    for minor in range(OLDEST[1], NEWEST[1] + 1):
        path = shutil.which("python3.%d" % minor, path=search_path())
        if path and subprocess.call([path, "-c", "import ssl"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            found.append(Python((3, minor), path))
    return found


def extremes(found: t.Sequence[Python]) -> list[Python]:
    """Return the oldest and the newest, or a single one if they are the same."""
    return list(dict.fromkeys([found[0], found[-1]])) if found else []
