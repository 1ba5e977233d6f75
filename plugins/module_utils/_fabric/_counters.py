# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Counters of ports: what they count, and how far they grew between two looks. Pure."""

from __future__ import annotations

import enum
import typing as t

_WIDE = 64


class Sort(enum.Enum):
    ERROR = "error"
    """Counts events that should not be. Stops at its maximum."""
    WAIT = "wait"
    """Counts ticks, many of them on a busy port."""
    DATA = "data"


class Counter(t.NamedTuple):
    sort: Sort
    bits: int
    """In PortCounters; in PortCountersExtended all have 64."""
    per_hour: float = 0
    """How much it may grow without a finding."""


_DATA = Counter(Sort.DATA, 32)
# By the names that the diagnostics have for them, in the order of the specification.
COUNTERS: t.Mapping[str, Counter] = {
    "SymbolErrorCounter": Counter(Sort.ERROR, 16, 10),
    "LinkErrorRecoveryCounter": Counter(Sort.ERROR, 8, 1),
    # A reboot takes a link down, and the loading of a driver may do it once more.
    "LinkDownedCounter": Counter(Sort.ERROR, 8, 2),
    "PortRcvErrors": Counter(Sort.ERROR, 16, 10),
    "PortRcvRemotePhysicalErrors": Counter(Sort.ERROR, 16, 100),
    "PortRcvSwitchRelayErrors": Counter(Sort.ERROR, 16, 100),
    "PortXmitDiscards": Counter(Sort.ERROR, 16, 100),
    "PortXmitConstraintErrors": Counter(Sort.ERROR, 8, 0),
    "PortRcvConstraintErrors": Counter(Sort.ERROR, 8, 0),
    "LocalLinkIntegrityErrors": Counter(Sort.ERROR, 4, 0),
    "ExcessiveBufferOverrunErrors": Counter(Sort.ERROR, 4, 0),
    "QP1Dropped": Counter(Sort.ERROR, 16, 100),
    "VL15Dropped": Counter(Sort.ERROR, 16, 100),
    # A tenth of the time where a tick is 4 ns. Its length is up to the vendor.
    "PortXmitWait": Counter(Sort.WAIT, 32, 1e11),
    **dict.fromkeys(("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts"), _DATA),
    **dict.fromkeys(("PortUnicastXmitPkts", "PortUnicastRcvPkts", "PortMulticastXmitPkts", "PortMulticastRcvPkts"), _DATA),
}
JUDGED = tuple(name for name, counter in COUNTERS.items() if counter.sort != Sort.DATA)


class Reading(t.NamedTuple):
    value: int = 0
    wide: bool = False
    """Whether the counter has 64 bits."""


Counts = t.Mapping[str, Reading]
Place = t.Tuple[str, int]
"""Port GUID and number."""


class Course(str, enum.Enum):
    """What became of a counter between two looks."""

    NORMAL = "normal"
    RESET = "reset"
    """It was set to zero, by whomever, and counts from there."""
    SATURATED = "saturated"
    """It is at its maximum, and may have missed any number."""
    WRAPPED = "wrapped"
    """It went beyond its maximum, and on from zero."""


class Growth(t.NamedTuple):
    total: int
    delta: int | None
    """None where nothing can be compared. The least that it can be after a reset, and of a saturated counter."""
    course: Course


def _maximum(name: str, reading: Reading) -> int:
    return (1 << (_WIDE if reading.wide else COUNTERS[name].bits)) - 1


def _has_wrapped(name: str, before: int, now: Reading) -> bool:
    """Whether a counter that is lower went around. Those of errors don't, and one that stood at its maximum did not."""
    top = _maximum(name, now)
    return COUNTERS[name].sort != Sort.ERROR and top * 3 // 4 < before < top and now.value < top // 4


def _is_cut(name: str, before: int, now: Reading) -> bool:
    """Whether the 64 bits that it had before could not be read this time, and the others stand at their maximum."""
    return not now.wide and before > now.value == _maximum(name, now)


def growth(before: Counts | None, now: Counts) -> dict[str, Growth]:
    """By counter, for each that is or was above zero. One counter that was set to zero says the same of all that are lower."""
    earlier = before or {}
    nothing = Reading()
    names = [name for name in COUNTERS if name in now or name in earlier]
    pairs = [(name, earlier.get(name, nothing).value, now.get(name, nothing)) for name in names]
    around = {name for name, old, new in pairs if new.value < old and _has_wrapped(name, old, new)}
    cut = {name for name, old, new in pairs if _is_cut(name, old, new)}
    was_reset = any(new.value < old and name not in around and name not in cut for name, old, new in pairs)
    found = {}
    for name, old, new in pairs:
        if not old and not new.value:
            continue
        course, delta = Course.NORMAL, new.value - old
        if delta < 0:
            course, delta = (Course.RESET, new.value) if was_reset else (Course.WRAPPED, delta + _maximum(name, new) + 1)
        if new.value == _maximum(name, new):
            course = Course.SATURATED
        found[name] = Growth(new.value, None if before is None or name in cut else delta, course)
    return found


def reading(basic: int | None, extended: int | None) -> Reading:
    """One counter that was read with few and with 64 bits. A port that does not have the latter shows them as zero."""
    if extended is not None and extended >= (basic or 0):
        return Reading(extended, True)
    return Reading(basic or 0)
