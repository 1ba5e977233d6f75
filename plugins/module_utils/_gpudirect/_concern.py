# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way to GPU memory before the first change. Pure."""

from __future__ import annotations

from .._concern import Concern, judged
from .._schema._gpudirect import VARIABLES
from ._input import foreseen, problems

CONCERN = Concern(
    "gpudirect",
    VARIABLES,
    needs=("ofed", "kernel_modules"),
    problems=judged(problems),
    refusals=lambda subject: foreseen(subject.variables, subject.facts or {}),
)
