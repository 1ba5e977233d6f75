# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The counters of an earlier look, as a file keeps them. Pure."""

from __future__ import annotations

import json
import math
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters import COUNTERS, Counts, Place, Reading
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal, read_table

_VERSION = 1


class Sample(t.NamedTuple):
    time: float
    """Seconds since 1970."""
    counts: t.Mapping[Place, Counts]
    """By port that was read. Counters of zero may be missing."""


def written(sample: Sample) -> str:
    ports = {"%s/%d" % place: {name: each.value for name, each in counts.items() if each.value} for place, counts in sorted(sample.counts.items())}
    return json.dumps({"version": _VERSION, "time": round(sample.time, 3), "ports": ports}, separators=(",", ":")) + "\n"


def _time(value: t.Any) -> float | None:
    """Seconds since 1970, within thousands of years."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e12 else None


def _counts(value: t.Any) -> Counts | None:
    if not isinstance(value, dict):
        return None
    known = {name: number for name, number in value.items() if name in COUNTERS}
    if not all(isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 64 for number in known.values()):
        return None
    return {name: Reading(number) for name, number in known.items()}


def parse_sample(content: str) -> Sample | None:
    """None for anything that `written` did not make."""
    table = read_table(content)
    time, ports = _time(table.get("time")), table.get("ports")
    if table.get("version") != _VERSION or time is None or not isinstance(ports, dict):
        return None
    found = {}
    for name, value in ports.items():
        guid, _slash, number = name.partition("/")
        port, counts = decimal(number), _counts(value)
        if port is None or counts is None:
            return None
        found[guid, port] = counts
    return Sample(time, found)


def hours_between(earlier: float, later: float) -> float | None:
    """None where the clock did not go forward."""
    seconds = later - earlier
    return seconds / 3600 if math.isfinite(seconds) and seconds > 0 else None
