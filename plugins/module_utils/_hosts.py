# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Short lists of host names, and their natural order. Pure."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping

from ._foreign import decimal

T = t.TypeVar("T")

_LAST_NUMBER = re.compile(r"^(.*?)([0-9]{1,18})([^0-9]*)$")


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts `node2` before `node10`."""
    return tuple((1, 0, part) if decimal(part) is None else (0, decimal(part, 0), "") for part in re.split(r"([0-9]+)", name))


def _are_neighbours(one: str, other: str) -> bool:
    """Whether two numbers are consecutive: `9` and `10`, `08` and `09`, but not `08` and `9`, for which a range has no notation."""
    return decimal(one, 0) + 1 == decimal(other, 0) and (len(one) == len(other) or "0" not in (one[0], other[0]))


def _spans(numbers: list[str]) -> str:
    """`1-3,7` for sorted digits."""
    spans: list[list[str]] = []
    for number in numbers:
        if spans and _are_neighbours(spans[-1][-1], number):
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ",".join("-".join(span) for span in spans)


def fold(names: Iterable[str]) -> str:
    """A short list of host names: `node[1-3,7] login`. The last number of a name varies in a range."""
    families: dict[tuple[str, str, bool], list[str]] = {}
    for name in sorted(set(names), key=natural):
        match = _LAST_NUMBER.match(name)
        prefix, number, suffix = match.groups() if match and match[2].isascii() else (name, "", "")
        families.setdefault((prefix, suffix, bool(number)), []).append(number)
    words = []
    for (prefix, suffix, _counts), numbers in families.items():
        words.append(prefix + (numbers[0] if len(numbers) == 1 else "[%s]" % _spans(numbers)) + suffix)
    return " ".join(words)


def sharing(found: Mapping[str, Iterable[T]]) -> dict[T, list[str]]:
    """Each finding once, with its hosts."""
    hosts: dict[T, list[str]] = {}
    for host, own in found.items():
        for each in own:
            hosts.setdefault(each, []).append(host)
    return hosts
