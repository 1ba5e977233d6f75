# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Link speeds, in the notations of the adapter tools and the fabric tools. Pure."""

from __future__ import annotations

import re

from .._foreign import real
from ._smpquery import SPEEDS

INFINIBAND = 0
"""The kind of a speed in `rank`; 1 is Ethernet."""

_ETHERNET = re.compile(r"^([0-9]{1,4}(?:\.[0-9])?)G")


def rank(speed: str) -> tuple[int, float] | None:
    """Kind and rank of a speed: `EDR` and `IB-EDR`, or `100G_4X` and `100GbE`; None for others."""
    name = speed[3:] if speed.startswith("IB-") else speed
    if name in SPEEDS:
        return INFINIBAND, SPEEDS.index(name)
    match = _ETHERNET.match(name)
    return (1, real(match.group(1)) or 0.0) if match else None
