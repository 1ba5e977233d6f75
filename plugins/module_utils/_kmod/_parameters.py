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

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import integer

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
_ARRAY = "array of "


def allowed(kind: str, value: str) -> str:
    """What the kernel takes for a parameter of that type; "" where `value` is good, or where nothing is known about the type."""
    if kind.startswith(_ARRAY):
        element = kind[len(_ARRAY) :]
        # The kernel has no arrays of arrays.
        wrong = [] if element.startswith(_ARRAY) else [words for words in (allowed(element, part) for part in value.split(",")) if words]
        return "a list with commas and without blanks, each entry %s" % wrong[0] if wrong else ""
    if kind in _BOOLEANS:
        return "" if _BOOLEAN.match(value) else "1 or 0, y or n, on or off"
    if kind not in _INTEGERS:
        return ""
    bits, signed = _INTEGERS[kind]
    least, largest = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    found = integer(value)
    if found is None or not least <= found <= largest or (value.startswith("-") and not signed):
        return "a number from %d to %d" % (least, largest)
    return ""
