# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Widths and speeds of links in their order. Pure."""

from __future__ import annotations

import re

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal

SPEEDS = ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR")
WIDTHS = ("1X", "2X", "4X", "8X", "12X")
_WIDTH = re.compile(r"([0-9]{1,3})X\Z")


def _rank(text: str) -> int | None:
    width = _WIDTH.match(text)
    if width:
        return decimal(width[1])
    return SPEEDS.index(text) if text in SPEEDS else None


def is_below(found: str, expected: str) -> bool:
    """Whether a width or a speed is below another. What has no name here is taken for enough."""
    one, other = _rank(found), _rank(expected)
    return one is not None and other is not None and one < other


def lower(one: str, other: str) -> str:
    """Of two widths or speeds. The ends of a link need not agree: a lane may work in one direction only."""
    return other if is_below(other, one) else one
