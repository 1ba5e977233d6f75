# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way to GPU memory before the first change. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Concern, Variables, judged
from .._plan import Plan
from .._schema._gpudirect import VARIABLES
from ._found import found_of
from ._input import foreseen, problems
from ._method import decide
from ._plan import hints


def idle(options: Variables, facts: Variables) -> dict[str, t.Any] | None:
    """The node has no GPU, or nothing that an earlier run has set up and that is to be removed."""
    absent = options["state"] == "absent"
    if "gpu" not in facts or facts["gpu"]["managed" if absent else "devices"] or problems({"gpudirect_" + name: value for name, value in options.items()}):
        return None
    gpu = found_of(facts).gpu
    why = "" if absent else decide(options["method"], found_of(facts)).why
    result = Plan().result(reasons=[why] if why else [])
    return {**result, "method": "", "why": why, "hints": hints(gpu), "loaded": [peer.name for peer in gpu.peers if peer.loaded]}


CONCERN = Concern(
    "gpudirect",
    VARIABLES,
    needs=("ofed", "kernel_modules"),
    problems=judged(problems),
    refusals=lambda subject: foreseen(subject.variables, subject.facts or {}),
    idle=idle,
)
