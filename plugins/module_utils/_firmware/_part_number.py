# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What the part number of a cable tells of its protocol. Pure.

NVIDIA's part numbers have a letter after the hyphen for what a LinkX cable or module is made and tested for: `MCP1600-C001E30N` is for
100 Gb/s Ethernet, `MCP1600-E001E30` for EDR. Cables with E, H and N are for InfiniBand, and NVIDIA lists them for Ethernet, too, or for both.
Cables of others say nothing of the kind.
"""

from __future__ import annotations

import re
import typing as t

_LINKX = re.compile(r"^M(?:CP|CA|FA|FS|MA|MS)[0-9A-Z]{4}-([A-Z])[0-9A-Z]")
_ETHERNET: t.Mapping[str, str] = {"A": "25GbE", "C": "100GbE", "V": "200GbE", "W": "400GbE"}


def ethernet_rate(part_number: str) -> str:
    """`MCP1600-C001E30N` -> `100GbE`; "" for a cable that is not known to be for Ethernet alone."""
    match = _LINKX.match(part_number.strip().upper())
    return _ETHERNET.get(match.group(1), "") if match else ""
