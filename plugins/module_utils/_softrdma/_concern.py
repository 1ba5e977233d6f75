# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The concern of software RDMA links, for decisions on the controller before the first change. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Concern, Variables, judged
from .._plan import Plan
from .._schema._soft_rdma import OPTIONS, VARIABLES
from ._discovery import DISCOVERY
from ._input import problems


def idle(options: Variables, facts: Variables) -> dict[str, t.Any] | None:
    """The result where no link is declared and no earlier run has left one: the facts list the links of the collection. None otherwise."""
    wanted = options["state"] == "present" and options["links"]
    if wanted or facts.get("soft_links") != [] or problems({"soft_rdma_" + name: value for name, value in options.items()}):
        return None
    return {**Plan().result(), "links": []}


CONCERN = Concern(
    "soft_rdma",
    VARIABLES,
    needs=("ofed", "kernel_modules"),
    problems=judged(problems),
    options=OPTIONS,
    elsewhere={"image": "rdma_image"},
    idle=idle,
    discovery=DISCOVERY,
)
