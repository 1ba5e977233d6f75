# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the check of a node expects of its stack."""

from __future__ import annotations

import typing as t

from .._expectation import Expectation
from .._facts._shared import stack
from .._facts._stack import Stack
from .._finding import Code, Finding
from .._plan import Kind
from ._vendors import wanted_stack

if t.TYPE_CHECKING:
    from .._expectation import Around, Variables
    from ._wanted import Wanted

UNCHECKED = "none"


def findings(wanted: Wanted, found: Stack, _around: Around) -> list[Finding]:
    if not wanted.fits(found):
        return [Finding(Code.OTHER_STACK, Kind.STACK, wanted=wanted.words, found=found.words)]
    return [] if found.complete else [Finding(Code.HALF_STACK, Kind.STACK, wanted=wanted.words, found=found.words)]


def _wanted(variables: Variables) -> Wanted | None:
    return wanted_stack(variables) if variables["ofed_source"] != UNCHECKED else None


def _result(found: Stack | None) -> dict[str, t.Any]:
    return {"stack": {"kind": found.kind, "version": found.ofed_version or found.version} if found else {}}


EXPECTATION = Expectation(
    "ofed",
    wanted=_wanted,
    hints=lambda _variables: {},
    look=lambda node, _wanted, _around: node.once(stack),
    form=Stack,
    findings=findings,
    result=_result,
)
