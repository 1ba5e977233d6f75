# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parse numbers, booleans, JSON and names from foreign text: tools, the kernel, an editor, an inventory, the fabric. Pure.

Python accepts more than is meant: digits of all scripts, underscores, blanks. It fails on harmless-looking input: the digit `²`, thousands of
digits, deep nesting. The whole collection parses such text here, and nothing here raises.
"""

from __future__ import annotations

import json
import math
import re
import typing as t
import unicodedata

K = t.TypeVar("K")
V = t.TypeVar("V")

# More digits than any number of a tool or of the kernel, and fewer than Python refuses.
_DECIMAL = re.compile(r"[0-9]{1,100}\Z")
_HEXADECIMAL = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,100}\Z")
_INTEGER = re.compile(r"(?P<sign>[+-]?)(?:0[xX](?P<b16>[0-9a-fA-F]{1,100})|(?P<b8>0[0-7]{0,100})|(?P<b10>[1-9][0-9]{0,99}))\Z")
_REAL = re.compile(r"[+-]?[0-9]{1,100}(?:\.[0-9]{1,100})?(?:[eE][+-]?[0-9]{1,3})?\Z")

# The words that both the filter `bool` and options of type `bool` of ansible-core accept, in any case.
BOOLEAN_WORDS = ("true", "false", "yes", "no", "on", "off", "1", "0")
BOOLEAN = "true or false"

# Records of the collection and output of the tools have at most five levels.
_LEVELS = 50


@t.overload
def decimal(text: str) -> int | None: ...


@t.overload
def decimal(text: str, default: int) -> int: ...


def decimal(text: str, default: int | None = None) -> int | None:
    """The number that these digits represent, with or without leading zeros; the default for anything else."""
    return int(text) if _DECIMAL.match(text) else default


class Once(t.Dict[K, V]):
    """Cache of a function's results for texts or other keys that recur: each is parsed once."""

    def __init__(self, read: t.Callable[[K], V]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, key: K) -> V:
        self[key] = value = self._read(key)
        return value


@t.overload
def hexadecimal(text: str) -> int | None: ...


@t.overload
def hexadecimal(text: str, default: int) -> int: ...


def hexadecimal(text: str, default: int | None = None) -> int | None:
    """The number that these hexadecimal digits represent, with or without `0x`; the default for anything else."""
    return int(text, 16) if _HEXADECIMAL.match(text) else default


def integer(text: str) -> int | None:
    """Parse `-12`, `0xc` and the octal `014` as C and the kernel do; None for anything else."""
    match = _INTEGER.match(text)
    if match is None:
        return None
    kind = match.lastgroup or ""
    return int(match.group("sign") + match.group(kind), int(kind[1:]))


def real(text: str) -> float | None:
    """`61`, `-2.5` and `5E-10`; None for anything else, and for a number that is too large."""
    number = float(text) if _REAL.match(text) else math.inf
    return number if math.isfinite(number) else None


def is_boolean(value: t.Any) -> bool:
    """Whether Ansible accepts this as a boolean. Values from `-e name=value` are strings."""
    if isinstance(value, (bool, int)):
        return value in (0, 1)
    return isinstance(value, str) and value.lower() in BOOLEAN_WORDS


def is_true(value: t.Any) -> bool:
    """Whether a boolean, as Ansible accepts it, is true. Anything else counts as false, and is reported elsewhere."""
    return is_boolean(value) and str(value).lower() in BOOLEAN_WORDS[::2]


def shown(text: str) -> str:
    """Foreign text as one line that makes its content visible: `node1\\n`, `\\x1b[2J`, `\\u202egnp.exe`.

    Characters that move the cursor, end a line, reverse the text direction, have no width or are invalid are escaped; any blank becomes a space.
    Everything printed to a terminal, a table, a log or a line of a configuration file passes through here.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def shown_lines(text: str) -> str:
    """The same for text of several lines, such as the output of a tool: line feeds and tabs are kept."""
    return "\n".join("\t".join(map(shown, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if unicodedata.category(character) == "Zs" else character.encode("unicode_escape").decode("ascii")


def read_json(text: str) -> t.Any:
    """The parsed value; None for invalid JSON, and for nesting that is too deep to process."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if _is_deeper(value, _LEVELS) else value


def read_table(text: str) -> dict[str, t.Any]:
    """The mapping in a record; empty for anything else."""
    value = read_json(text)
    return value if isinstance(value, dict) else {}


def _is_deeper(value: t.Any, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in (value.values() if isinstance(value, dict) else value))


def rows_of(facts: t.Mapping[str, t.Any] | None, key: str) -> list[t.Mapping[str, t.Any]]:
    """The rows of a table in the facts, which may come from a cache written by others."""
    rows = (facts or {}).get(key)
    return [row for row in rows if isinstance(row, t.Mapping)] if isinstance(rows, (list, tuple)) else []


def part(facts: t.Mapping[str, t.Any] | None, name: str) -> t.Mapping[str, t.Any]:
    """A part of the facts; empty where it is missing."""
    found = facts.get(name) if isinstance(facts, dict) else None
    return found if isinstance(found, dict) else {}


def release(version: str) -> tuple[int, int]:
    """The first two numbers: `23.10-0.5.5.0` -> `(23, 10)`, `6.1.0-50-amd64` -> `(6, 1)`; zeros for anything else."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (decimal(match.group(1), 0), decimal(match.group(2), 0)) if match else (0, 0)
