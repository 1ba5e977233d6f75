# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The concern of the RDMA stack, for decisions on the controller before the first change. Pure."""

from __future__ import annotations

from .._concern import DRIVER, VENDOR, Concern, Subject, judged
from .._foreign import part
from .._schema._ofed import VARIABLES
from ._discovery import DISCOVERY
from ._input import distribution_notes, problems, settled, unknown_distribution
from ._ownership import refusals


def _settled(subject: Subject) -> bool:
    packages = subject.recall("packages")
    return settled(subject.variables, subject.facts or {}, None if packages is None else dict(packages))


def _lacks(subject: Subject) -> str:
    source, found = subject.variables.get("ofed_source", "inbox"), part(subject.facts or {}, "stack").get("kind")
    if subject.variables.get("ofed_state", "present") == "present" and source not in ("inbox", found):
        return VENDOR
    return DRIVER if found not in (None, "none", "inbox") else ""


CONCERN = Concern(
    "ofed",
    VARIABLES,
    problems=judged(problems),
    unserved=judged(unknown_distribution),
    lacks=_lacks,
    remarks=judged(distribution_notes),
    refusals=judged(refusals),
    foreseen=lambda subject: {"stack_settled": _settled(subject)},
    discovery=DISCOVERY,
    settled=_settled,
)
