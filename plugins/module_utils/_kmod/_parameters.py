# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The types of a module's parameters, and which values the kernel takes for them. Pure.

A module that is given a value that it does not take is not loaded at all, at the next boot at the latest. The types are
those of include/linux/moduleparam.h; how they are read is kernel/params.c: numbers by kstrtol() with base 0, booleans by
kstrtobool(), which looks at one letter, or at two after an `o`.
"""

from __future__ import annotations

import re

# Bits, and whether it is signed. long is that of a 64 bit kernel.
_INTEGERS = {
    "byte": (8, False),
    "short": (16, True),
    "ushort": (16, False),
    "int": (32, True),
    "uint": (32, False),
    "hexint": (32, False),
    "long": (64, True),
    "ulong": (64, False),
    "ullong": (64, False),
}
_BOOLEANS = ("bool", "invbool", "bint")
_BOOLEAN = re.compile(r"^(?:[01]|y|yes|n|no|on|off)$", re.IGNORECASE)
# What a leading zero means to C: 010 is eight, and 08 is no number.
_NUMBER = re.compile(r"^[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)\Z")
# A sign, a prefix and 64 bits in octal digits, with room for leading zeros.
_LONGEST = 64
_ARRAY = "array of "


def allowed(kind: str, value: str) -> str:
    """What the kernel takes for a parameter of that type; "" where `value` is good, or where nothing is known about the type."""
    if kind.startswith(_ARRAY):
        element = kind[len(_ARRAY) :]
        wrong = [words for words in (allowed(element, part) for part in value.split(",")) if words]
        return "a list with commas and without blanks, each entry %s" % wrong[0] if wrong else ""
    if kind in _BOOLEANS:
        return "" if _BOOLEAN.match(value) else "1 or 0, y or n, on or off"
    if kind not in _INTEGERS:
        return ""
    bits, signed = _INTEGERS[kind]
    least, largest = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    found = number(value)
    if found is None or not least <= found <= largest or (value.startswith("-") and not signed):
        return "a number from %d to %d" % (least, largest)
    return ""


def number(value: str) -> int | None:
    """What the kernel reads as a number, octal and hexadecimal ones included; None for anything else."""
    # To Python, the octal 010 is 0o10. More digits than that fit no type of the kernel, and Python refuses thousands of them.
    return int(re.sub(r"^([+-]?)0(?=[0-7])", r"\g<1>0o", value), 0) if len(value) <= _LONGEST and _NUMBER.match(value) else None
