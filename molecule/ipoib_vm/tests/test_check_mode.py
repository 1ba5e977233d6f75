# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check mode is accurate: the run did on the fresh machines exactly what check mode predicted."""

from __future__ import annotations

import pytest
import records
from kernel import FOLDER, NODES


@pytest.mark.proves("check_mode", debian12="real")
def test_check_mode_predicts_the_run() -> None:
    predicted, done = records.find(FOLDER, "converge", "check")[0], records.find(FOLDER, "converge", "run")[0]
    assert records.differences(predicted, done) == []
    assert {host for _play, _task, host in records.changes(predicted)} == set(NODES)
