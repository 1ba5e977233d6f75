# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What discovery reads from the look at a host: declarations that describe its state, and what no declaration can describe. Pure data."""

from __future__ import annotations

import re
import typing as t


class Reference(t.NamedTuple):
    """A part of a value that another variable holds: one of the host, or a secret that the administrator adds."""

    variable: str


class Value(t.NamedTuple):
    """A variable with the value that describes what was found."""

    variable: str
    value: t.Any
    """Of JSON types, with any Reference."""
    source: str
    """Where it comes from, in words. They may contain names that others have chosen."""


class Left(t.NamedTuple):
    """Something that was found and that no variable expresses."""

    what: str
    why: str
    """The reason, and what becomes of it."""


class Reading(t.NamedTuple):
    """What one concern reads from the look at one host."""

    values: t.Sequence[Value] = ()
    left: t.Sequence[Left] = ()
    dangers: t.Sequence[str] = ()
    """Dangerous findings, in words."""


def together(readings: t.Iterable[Reading]) -> Reading:
    """Several readings of one host as one."""
    parts = list(readings)
    return Reading(
        [value for each in parts for value in each.values], [left for each in parts for left in each.left], [word for each in parts for word in each.dangers]
    )


class Joined(t.NamedTuple):
    """What one concern reads from the looks at all hosts together."""

    values: t.Mapping[str, t.Sequence[Value]] = {}
    """By host."""
    groups: t.Mapping[str, t.Sequence[str]] = {}
    """Groups of the inventory with their hosts, in order."""
    left: t.Sequence[Left] = ()
    dangers: t.Sequence[str] = ()


_NO_PART = re.compile("[^A-Za-z0-9_]")


def variable_name(*parts: str) -> str:
    """The name of a variable of the site that contains these parts. It begins like none of the collection's."""
    return "found_" + "_".join(_NO_PART.sub("_", part) for part in parts)
