# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check mode is accurate: the run did on the fresh nodes exactly what check mode predicted."""

from __future__ import annotations

import os
import pathlib
import sys
import typing as t

import pytest

PROJECT = pathlib.Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
sys.path.insert(0, str(PROJECT / "tests/tools"))

import records

FOLDER = PROJECT / "build/molecule/default"


def runs() -> t.Tuple[t.List[records.Event], t.List[records.Event]]:
    """Return the check-mode run on the fresh nodes, and the first run."""
    return records.find(FOLDER, "converge", "check")[0], records.find(FOLDER, "converge", "run")[0]


@pytest.mark.proves("check_mode", debian12="real")
def test_check_mode_predicts_the_run() -> None:
    predicted, done = runs()
    assert records.differences(predicted, done) == []


def test_there_was_something_to_predict() -> None:
    predicted, _done = runs()
    assert {host for _play, _task, host in records.changes(predicted)} == {"node1", "node2", "node3"}
