# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Numbers of InfiniBand as people and tools write them: sizes and speeds with the codes of partitions.conf, P_Keys, GUIDs. Pure.

Codes: InfiniBand Architecture Specification, volume 1, PathRecord and MCMemberRecord (chapter 15).
"""

from __future__ import annotations

import re
import typing as t

# Bytes.
MTUS: t.Mapping[int, int] = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}

# Gb/s as the tools round them: a lane of FDR has 14.0625, and is called 14.
RATES: t.Mapping[float, int] = {
    2.5: 2,
    10: 3,
    30: 4,
    5: 5,
    20: 6,
    40: 7,
    60: 8,
    80: 9,
    120: 10,
    14: 11,
    56: 12,
    112: 13,
    168: 14,
    25: 15,
    100: 16,
    200: 17,
    300: 18,
    28: 19,
    50: 20,
    400: 21,
    600: 22,
    800: 23,
    1200: 24,
}

SCOPES: t.Mapping[str, int] = {"link": 2, "site": 5, "organization": 8, "global": 14}

# 100, "100 Gb/sec", "100 Gb/sec (4X EDR)", "2.5Gbps".
_RATE = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,2})?) ?(?:Gb/sec|Gb/s|Gbps|Gbit/s)?(?: \([^()]*\))?\Z")

# The hint for a GUID that is a number.
QUOTE = "quote it: without quotes YAML reads a number"

_GUID = re.compile(r"(0x)?[0-9a-fA-F]{1,16}\Z")


def rate_code(value: t.Any) -> int | None:
    """The code of a rate in Gb/s; None where there is no such rate."""
    if isinstance(value, str):
        match = _RATE.match(value)
        return RATES.get(float(match.group(1))) if match else None
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else RATES.get(value)


def mtu_code(value: t.Any) -> int | None:
    """The code of an MTU in bytes; None where there is no such MTU."""
    if isinstance(value, str):
        return MTUS.get(int(value)) if re.match(r"[0-9]{3,4}\Z", value) else None
    return None if isinstance(value, bool) or not isinstance(value, int) else MTUS.get(value)


def scope_code(value: t.Any) -> int | None:
    """The code of the scope of a multicast group, by name or number; None where there is no such scope."""
    if isinstance(value, str) and value in SCOPES:
        return SCOPES[value]
    if isinstance(value, str) and re.match(r"(0x[0-9a-fA-F]|[0-9]{1,2})\Z", value):
        value = int(value, 0) if value.startswith("0x") else int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 16 else None


def pkey_base(value: t.Any) -> int | None:
    """The low 15 bits of a P_Key, which are the partition; None for what is no P_Key. The highest bit is a port's membership."""
    if isinstance(value, str) and re.match(r"(0[xX][0-9a-fA-F]{1,4}|[1-9][0-9]{0,4})\Z", value):
        value = int(value, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= 0xFFFF:
        return None
    return value & 0x7FFF or None


def is_guid(value: t.Any) -> bool:
    """Whether it is the text of a GUID. Without quotes YAML makes a number of it, which has lost its leading zeros."""
    return isinstance(value, str) and _GUID.match(value) is not None and int(value, 16) != 0


def normal_guid(text: str) -> str:
    """`7cfe90030016aef1` or `0x7CFE90030016AEF1` -> `0x7cfe90030016aef1`."""
    return "0x%016x" % int(text, 16)
