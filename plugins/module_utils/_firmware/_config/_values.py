# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values of firmware parameters: as the tools print them, as users write them, and when both mean the same. Pure.

The tools print `IB(1)` for enumerations and booleans, `0x10(16)` for bit masks, plain numbers, `Array[0..7]` for a
whole array, bare hex digits for byte strings, and `N/A` for what can't be read.
"""

from __future__ import annotations

import re
import typing as t

from ..._foreign import decimal, hexadecimal

if t.TYPE_CHECKING:
    from ..._tools._mlxconfig import Row

_NAMED = re.compile(r"^(?P<text>[^\s()]+)\((?P<number>[0-9]{1,20})\)\Z")
_ARRAY = re.compile(r"^Array\[([0-9]{1,6})\.\.([0-9]{1,6})\]\Z")
_DECIMAL = re.compile(r"^[0-9]{1,20}\Z")
_HEX = re.compile(r"^0[xX][0-9a-fA-F]+\Z")
# A longer number is a byte string.
_HEX_NUMBER = re.compile(r"^0[xX][0-9a-fA-F]{1,16}\Z")
_DIGITS = re.compile(r"^[0-9a-fA-F]+\Z")
_KEY = re.compile(r"^(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?:\[(?P<first>[0-9]{1,4})(?:\.\.(?P<last>[0-9]{1,4}))?\])?\Z")

_BOOLEANS = {"true": 1, "yes": 1, "on": 1, "1": 1, "false": 0, "no": 0, "off": 0, "0": 0}
_UNREADABLE = "N/A"
# The tools reserve this number for "not set".
RESERVED = 0xFFFFFFFF


def elements_of(key: str) -> list[str]:
    """The parameters that `SRIOV_EN`, `NAME[2]` or `NAME[0..3]` stands for; empty for an invalid key such as `NAME[3..1]`."""
    match = _KEY.match(key)
    if match is None:
        return []
    name, first, last = match.group("name", "first", "last")
    return [name] if first is None else ["%s[%d]" % (name, index) for index in range(decimal(first, 0), decimal(last or first, 0) + 1)]


def base_name(element: str) -> str:
    """`NAME[3]` -> `NAME`."""
    return element.partition("[")[0]


def bounds(shown: str) -> tuple[int, int] | None:
    """The indices of `Array[0..7]`; None for a value that is no array."""
    match = _ARRAY.match(shown)
    return (decimal(match.group(1), 0), decimal(match.group(2), 0)) if match else None


def readable(shown: str) -> bool:
    return shown != _UNREADABLE


def whole_arrays(rows: t.Mapping[str, Row]) -> list[str]:
    """The arrays among all parameters, named as a query for their elements names them."""
    limits = {name: bounds(row.next) for name, row in rows.items()}
    return ["%s[%d..%d]" % (name, limit[0], limit[1]) for name, limit in sorted(limits.items()) if limit]


def number_of(text: str) -> int | None:
    """The number in `2`, `0x2`, `ETH(2)` or `0x2(2)`; None where there is none."""
    match = _NAMED.match(text)
    if match:
        return decimal(match.group("number"))
    if _DECIMAL.match(text):
        return decimal(text)
    return hexadecimal(text) if _HEX_NUMBER.match(text) else None


def name_of(text: str) -> str:
    """`ETH` of `ETH(2)` and of `ETH`; "" for numbers."""
    match = _NAMED.match(text)
    word = match.group("text") if match else text
    return "" if _DECIMAL.match(word) or _HEX.match(word) else word


def is_boolean(shown: str) -> bool:
    return name_of(shown).lower() in ("true", "false")


def _flag(declared_text: str) -> int | None:
    """1 or 0 for a declared boolean, given by name or number; None for other texts."""
    return _BOOLEANS.get(name_of(declared_text).lower() or str(number_of(declared_text)))


def text_of(value: t.Any) -> str:
    """A declared value as text. YAML booleans become what the tools print."""
    if isinstance(value, bool):
        return "True" if value else "False"
    return str(value).strip()


def agree(one: str | None, other: str | None) -> bool:
    """Whether two declared texts, None for the default, are equal for every parameter. A name and a number count as different."""
    return _canonical(one) == _canonical(other)


def _canonical(text: str | None) -> int | str | None:
    if text is None:
        return None
    number = number_of(text)
    return number if number is not None else _BOOLEANS.get(text.lower(), text.lower())


def _bytes(text: str) -> str:
    return (text[2:] if _HEX.match(text) else text).lower()


def same(declared_text: str, shown: str) -> bool:
    """Whether the declared text means the value that the tool shows.

    Digits without 0x are decimal for every parameter: a mask of ten is `10` or `0xa`.
    """
    if not readable(shown):
        return False
    if is_boolean(shown):
        wanted = _flag(declared_text)
        return wanted is not None and wanted == number_of(shown)
    declared, found = number_of(declared_text), number_of(shown)
    if declared is not None and found is not None:
        return declared == found
    if declared is None and name_of(declared_text).lower() == name_of(shown).lower():
        return True
    return bool(_DIGITS.match(_bytes(declared_text)) and _bytes(declared_text) == _bytes(shown))


def as_declared(shown: str) -> bool | int | str:
    """The value to declare for a value that the tool shows: a boolean, the name of an enumeration, a number, digits of a bit mask with 0x, or bytes."""
    number = number_of(shown)
    if is_boolean(shown):
        return number == 1
    match = _NAMED.match(shown)
    if match and (name_of(shown) or (_HEX.match(match.group("text")) and number_of(match.group("text")) == number)):
        return match.group("text")
    # Digits with leading zeros may be a string of bytes.
    return number if number is not None and (match or str(number) == shown) else shown


def argument(declared_text: str, shown: str) -> str:
    """The declared text in the one spelling that every version of the tools reads in the same way."""
    if is_boolean(shown) and _flag(declared_text) is not None:
        return "True" if _flag(declared_text) else "False"
    declared = number_of(declared_text)
    if declared is None:
        return declared_text
    named = _NAMED.match(shown)
    if named and _HEX.match(named.group("text")):
        # A bit mask. The tools read it as hexadecimal even without 0x.
        return "0x%x" % declared
    # In a byte string longer than a number, each digit counts.
    return declared_text if _HEX.match(declared_text) and number_of(shown) is None else str(declared)
