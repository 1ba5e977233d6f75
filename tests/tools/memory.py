# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has passed on a commit, so that `make nightly` goes on where an earlier run was ended. It is in build/nightly."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import proofs
from common import BUILD, JUNIT
from pages import Outcome
from schedule import Stage
from stages import Done

FOLDER = BUILD / "nightly"


class Memory:
    """The stages that have passed on a commit, and the outcomes of its tests. Nothing is kept of a changed working tree, whose `commit` is ""."""

    def __init__(self, commit: str, fresh: bool = False, *, folder: pathlib.Path = FOLDER, junit: pathlib.Path = JUNIT) -> None:
        self._path = folder / (commit + ".json") if commit else None
        self._junit = junit
        self.passed: list[str] = []
        self.tests: dict[str, Outcome] = {}
        if self._path and self._path.exists() and not fresh:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            self.passed, self.tests = kept["passed"], {test: Outcome(*outcome) for test, outcome in kept["tests"].items()}

    def left(self, stages: t.Sequence[Stage]) -> list[Stage]:
        """Return the stages that have to run. What others come after, such as the images, is made each time."""
        needed = {name for stage in stages for name in stage.after}
        left = [stage for stage in stages if stage.name not in self.passed]
        return left if any(stage.name not in needed for stage in left) else []

    def note(self, done: Done) -> None:
        if not done.status and done.stage.after:
            self.passed.append(done.stage.name)
        self.note_tests()

    def note_tests(self) -> None:
        """Keep what the tests have found so far. A run that is ended starts with an empty directory of JUnit files."""
        self.tests.update(proofs.outcomes(self._junit))
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new = self._path.with_suffix(".new")
            new.write_text(json.dumps({"passed": self.passed, "tests": self.tests}), encoding="utf-8")
            os.replace(new, self._path)
