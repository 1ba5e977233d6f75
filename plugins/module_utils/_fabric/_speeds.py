# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Widths and speeds of links in their order. Pure."""

from __future__ import annotations

import re

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal

# Signalling rate of a lane in Gb/s, in the order of the speeds.
LANE_GBPS = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.3125,
    "FDR": 14.0625,
    "EDR": 25.78125,
    "HDR": 53.125,
    "NDR": 106.25,
    "XDR": 212.5,
}
SPEEDS = tuple(LANE_GBPS)
WIDTHS = ("1X", "2X", "4X", "8X", "12X")
_WIDTH = re.compile(r"([0-9]{1,3})X\Z")


def lanes(width: str) -> int | None:
    """`4X` -> 4; None for what is no width."""
    match = _WIDTH.match(width)
    return decimal(match[1]) if match else None


def _rank(text: str) -> int | None:
    width = lanes(text)
    if width is not None:
        return width
    return SPEEDS.index(text) if text in SPEEDS else None


def is_below(found: str, expected: str) -> bool:
    """Whether a width or a speed is below another. What has no name here is taken for enough."""
    one, other = _rank(found), _rank(expected)
    return one is not None and other is not None and one < other


def lower(one: str, other: str) -> str:
    """Of two widths or speeds. The ends of a link need not agree: a lane may work in one direction only."""
    return other if is_below(other, one) else one
