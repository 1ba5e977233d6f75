# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the check of a node expects of its stack. Pure."""

from __future__ import annotations

import typing as t

from .._finding import Code, Finding
from .._plan import Kind

if t.TYPE_CHECKING:
    from .._facts._stack import Stack
    from ._states import Wanted


def findings(wanted: Wanted, found: Stack) -> list[Finding]:
    if not wanted.fits(found):
        return [Finding(Code.OTHER_STACK, Kind.STACK, wanted=wanted.words, found=found.words)]
    return [] if found.complete else [Finding(Code.HALF_STACK, Kind.STACK, wanted=wanted.words, found=found.words)]
