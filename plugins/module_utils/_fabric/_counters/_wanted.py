# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What `ib_counters` is to read, judge and clear. Pure."""

from __future__ import annotations

import typing as t

from .._choice import Filter
from ._types import Place


class Wanted(t.NamedTuple):
    nodes: Filter
    numbers: frozenset[int]
    interval: float
    sample_file: str
    limits: t.Mapping[str, float]
    clear: str
    rates: t.Mapping[Place, float]
    """Bit error rates of the ports whose hosts reported them."""
    unread: t.Mapping[Place, str]
    """Why hosts could not read the rates of other ports."""
