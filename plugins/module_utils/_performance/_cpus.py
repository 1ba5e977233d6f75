# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists of CPUs as the kernel writes them. Pure."""

from __future__ import annotations

import re
import typing as t

from .._foreign import decimal

# Numbers of CPUs have at most five digits.
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?\Z")

Cpus = t.Tuple[t.Tuple[int, int], ...]
"""Ranges, each with its first and its last CPU."""


def parse_cpus(text: str) -> Cpus:
    """`0-15,64` -> (0, 15) and (64, 64); () for an empty list and for anything else."""
    found = []
    for part in text.split(","):
        match = _RANGE.match(part)
        if match is None:
            return ()
        first = decimal(match.group(1), 0)
        found.append((first, decimal(match.group(2) or "", first)))
    return tuple(found) if all(first <= last for first, last in found) else ()


def overlap(one: Cpus, other: Cpus) -> bool:
    """Whether they have a CPU in common."""
    return any(first <= end and start <= last for first, last in one for start, end in other)
