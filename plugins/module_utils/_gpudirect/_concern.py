# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The concern of GPUDirect, for decisions on the controller before the first change. Pure."""

from __future__ import annotations

import typing as t

from .._concern import GPU, Concern, Subject, Variables, judged
from .._facts._gpu import Device, Gpu, Path
from .._foreign import part, rows_of
from .._plan import Plan
from .._record import read_row
from .._schema._gpudirect import VARIABLES
from ._discovery import DISCOVERY
from ._found import Found
from ._input import foreseen, problems
from ._method import decide
from ._plan import hints


def idle(options: Variables, facts: Variables) -> dict[str, t.Any] | None:
    """The result for a node without a GPU and without anything to remove from an earlier run; None for other nodes."""
    absent, found = options["state"] == "absent", part(facts, "gpu")
    if found.get("managed" if absent else "devices") != [] or problems({"gpudirect_" + name: value for name, value in options.items()}):
        return None
    why = "" if absent else decide(options["method"], Found()).why
    paths = (read_row(Path, row) for row in rows_of(found, "topology"))
    gpu = Gpu(tuple(Device(str(row.get("pci"))) for row in rows_of(found, "devices")), topology=tuple(path for path in paths if path is not None))
    loaded = [str(row.get("name")) for row in rows_of(found, "peers") if row.get("loaded")]
    return {**Plan().result(reasons=[why] if why else []), "method": "", "why": why, "hints": hints(gpu), "loaded": loaded}


def _is_undeclared(subject: Subject) -> bool:
    return (subject.variables.get("gpudirect_state", "present"), subject.variables.get("gpudirect_method", "none")) == ("present", "none")


CONCERN = Concern(
    "gpudirect",
    VARIABLES,
    needs=("ofed", "kernel_modules"),
    problems=judged(problems),
    refusals=lambda subject: foreseen(subject.variables, subject.facts or {}),
    lacks=lambda subject: "" if _is_undeclared(subject) else GPU,
    idle=idle,
    discovery=DISCOVERY,
    # On a node with a GPU, the module always runs.
    settled=_is_undeclared,
)
