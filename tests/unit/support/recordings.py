# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recorded output of the firmware tools in tests/corpus."""

from __future__ import annotations

import pathlib
import re
import typing as t

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "corpus"
FOLDERS = ("flint_*", "mlx*", "firmware_*")
_STEP = re.compile(r"^\$ (?P<command>[^\n]*)\n(?P<text>.*?)^\[exit (?P<rc>\d+)(?:, \d+ cs)?\]$", re.MULTILINE | re.DOTALL)


class Step(t.NamedTuple):
    """One command of a transcript."""

    argv: tuple[str, ...]
    text: str
    rc: int

    @property
    def tool(self) -> str:
        return next((word for word in self.argv if word.startswith(("mst", "mlx", "flint"))), "")


def files() -> list[pathlib.Path]:
    return sorted(path for pattern in FOLDERS for folder in CORPUS.glob(pattern) for path in folder.glob("*.txt"))


def recorded(path: pathlib.Path) -> str:
    """Return the text as the tool wrote it: the files show carriage returns as ^M and escapes as ^[."""
    return path.read_text(encoding="utf-8").replace("^M", "\r").replace("^[", "\x1b")


def steps(path: pathlib.Path) -> list[Step]:
    return [Step(tuple(match["command"].split()), match["text"], int(match["rc"])) for match in _STEP.finditer(recorded(path))]
