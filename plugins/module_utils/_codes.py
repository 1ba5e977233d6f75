# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Numbers of InfiniBand as users and tools write them: sizes and speeds with the codes of partitions.conf, P_Keys, GUIDs. Pure.

Codes: InfiniBand Architecture Specification, volume 1, PathRecord and MCMemberRecord (chapter 15).
"""

from __future__ import annotations

import math
import re
import typing as t

from ._errors import Problem
from ._foreign import decimal, hexadecimal, real

# Bytes.
MTUS: t.Mapping[int, int] = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}

# Gb/s as the tools round them, in the order of their codes: a lane of FDR has 14.0625, and is shown as 14.
_RATES = (2.5, 10, 30, 5, 20, 40, 60, 80, 120, 14, 56, 112, 168, 25, 100, 200, 300, 28, 50, 400, 600, 800, 1200)
RATES: t.Mapping[float, int] = {rate: code for code, rate in enumerate(_RATES, 2)}

SCOPES: t.Mapping[str, int] = {"link": 2, "site": 5, "organization": 8, "global": 14}

# 100, "100 Gb/sec", "100 Gb/sec (4X EDR)", "2.5Gbps".
_RATE = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,2})?) ?(?:Gb/sec|Gb/s|Gbps|Gbit/s)?(?: \([^()]*\))?\Z")

# What `strtoul` accepts in any base. A leading zero would make the number octal.
NUMBER = "0[xX][0-9a-fA-F]{1,64}|0|[1-9][0-9]{0,19}"

_QUOTE = "quote it: without quotes YAML reads a number"

_GUID = re.compile(r"(0x)?[0-9a-fA-F]{1,16}\Z")


def number(value: t.Any, form: str = NUMBER) -> int | None:
    """A whole number, or a text of this form; None for anything else."""
    if isinstance(value, str):
        if not re.fullmatch(form, value):
            return None
        digits = value.lstrip("-")
        found = hexadecimal(digits) if "x" in digits.lower() else decimal(digits)
        return -found if found is not None and value.startswith("-") else found
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_int(value: t.Any, highest: float = math.inf) -> int | None:
    """A whole number from 0 to `highest` from YAML, INI or the command line; None for anything else."""
    found = number(value, "[0-9]+")
    return found if found is not None and 0 <= found <= highest else None


def rate_code(value: t.Any) -> int | None:
    """The code of a rate in Gb/s; None where there is no such rate."""
    if isinstance(value, str):
        match = _RATE.match(value)
        return RATES.get(real(match.group(1)) or 0) if match else None
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else RATES.get(value)


def mtu_code(value: t.Any) -> int | None:
    """The code of an MTU in bytes; None where there is no such MTU."""
    return MTUS.get(number(value, "[0-9]{3,4}") or 0)


def scope_code(value: t.Any) -> int | None:
    """The code of the scope of a multicast group, by name or number; None where there is no such scope."""
    if isinstance(value, str) and value in SCOPES:
        return SCOPES[value]
    code = number(value, "0x[0-9a-fA-F]|[0-9]{1,2}")
    return code if code is not None and 0 < code < 16 else None


def pkey_base(value: t.Any) -> int | None:
    """The low 15 bits of a P_Key, which identify the partition; None for anything else. The highest bit is the membership of a port."""
    key = number(value, "0[xX][0-9a-fA-F]{1,4}|[1-9][0-9]{0,4}")
    if key is None or not 0 < key <= 0xFFFF:
        return None
    return key & 0x7FFF or None


def is_guid(value: t.Any) -> bool:
    """Whether it is the text of a GUID. Without quotes, YAML turns it into a number, which loses leading zeros."""
    return isinstance(value, str) and _GUID.match(value) is not None and hexadecimal(value, 0) != 0


def guid_problems(where: str, value: t.Any, what: str, *, hint: str = "") -> list[Problem]:
    """The problem of a value that is no GUID. `what`: the expected object, such as "a port GUID"."""
    if is_guid(value):
        return []
    return [Problem(where, value, '%s in the form "0x7cfe90030016aef1"' % what, _QUOTE if isinstance(value, int) else hint)]


def normal_guid(text: str) -> str:
    """`7cfe90030016aef1` or `0x7CFE90030016AEF1` -> `0x7cfe90030016aef1`."""
    return "0x%016x" % hexadecimal(text, 0)


def is_secret(key: t.Any) -> bool:
    """Whether a key protects the fabric: m_key, sm_key, sa_key, cc_key, vendor-specific ones, and the seeds of such keys."""
    return isinstance(key, str) and key.endswith(("_key", "_seed"))
