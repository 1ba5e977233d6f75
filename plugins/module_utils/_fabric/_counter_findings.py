# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What counters say of a fabric: those that are beyond their limit. Pure."""

from __future__ import annotations

import enum
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters import COUNTERS, JUDGED, Course, Growth, Place, Sort


class Severity(str, enum.Enum):
    ERROR = "error"
    """Packets are lost, or the link is."""
    WARNING = "warning"
    NOTICE = "notice"
    """It tells little by itself."""


class Code(str, enum.Enum):
    SYMBOL_ERRORS = "symbol_errors"
    LINK_RECOVERS = "link_recovers"
    LINK_DOWNED = "link_downed"
    RECEIVE_ERRORS = "receive_errors"
    REMOTE_ERRORS = "remote_errors"
    RELAY_ERRORS = "relay_errors"
    DISCARDS = "discards"
    CONSTRAINT_ERRORS = "constraint_errors"
    LINK_INTEGRITY = "link_integrity"
    BUFFER_OVERRUNS = "buffer_overruns"
    MANAGEMENT_DROPS = "management_drops"
    CONGESTION = "congestion"
    SATURATED = "saturated"


class _Meaning(t.NamedTuple):
    code: Code
    severity: Severity


_MEANINGS: t.Mapping[str, _Meaning] = {
    "SymbolErrorCounter": _Meaning(Code.SYMBOL_ERRORS, Severity.WARNING),
    "LinkErrorRecoveryCounter": _Meaning(Code.LINK_RECOVERS, Severity.ERROR),
    "LinkDownedCounter": _Meaning(Code.LINK_DOWNED, Severity.ERROR),
    "PortRcvErrors": _Meaning(Code.RECEIVE_ERRORS, Severity.ERROR),
    "PortRcvRemotePhysicalErrors": _Meaning(Code.REMOTE_ERRORS, Severity.NOTICE),
    "PortRcvSwitchRelayErrors": _Meaning(Code.RELAY_ERRORS, Severity.NOTICE),
    "PortXmitDiscards": _Meaning(Code.DISCARDS, Severity.WARNING),
    "PortXmitConstraintErrors": _Meaning(Code.CONSTRAINT_ERRORS, Severity.WARNING),
    "PortRcvConstraintErrors": _Meaning(Code.CONSTRAINT_ERRORS, Severity.WARNING),
    "LocalLinkIntegrityErrors": _Meaning(Code.LINK_INTEGRITY, Severity.ERROR),
    "ExcessiveBufferOverrunErrors": _Meaning(Code.BUFFER_OVERRUNS, Severity.ERROR),
    "QP1Dropped": _Meaning(Code.MANAGEMENT_DROPS, Severity.NOTICE),
    "VL15Dropped": _Meaning(Code.MANAGEMENT_DROPS, Severity.NOTICE),
    "PortXmitWait": _Meaning(Code.CONGESTION, Severity.WARNING),
}


class Finding(t.NamedTuple):
    """One counter of one port."""

    code: Code
    severity: Severity
    place: Place
    counter: str
    found: float
    """The growth, or the total where nothing is compared; of PortXmitWait the growth per hour."""
    limit: float
    """What is allowed of the same."""
    course: Course


class Rules(t.NamedTuple):
    limits: t.Mapping[str, float]
    """Per hour, by counter."""
    suppressed: frozenset[str] = frozenset()


def rules(thresholds: t.Mapping[str, float], suppressed: t.Iterable[str]) -> Rules:
    return Rules({name: thresholds.get(name, COUNTERS[name].per_hour) for name in JUDGED}, frozenset(suppressed))


def _measure(name: str, grown: Growth, limit: float, hours: float | None) -> tuple[float, float] | None:
    """What is found and what is allowed; None where nothing can be said.

    Less than an hour counts as one: a single event in a few seconds makes no rate. Ticks come in such numbers that they do.
    """
    waits = COUNTERS[name].sort == Sort.WAIT
    if hours is None:
        # How long it took to wait so much is not known.
        return None if waits else (grown.total, limit)
    if grown.delta is None:
        return None
    return (grown.delta / hours, limit) if waits else (grown.delta, limit * max(hours, 1))


def judge(place: Place, counters: t.Mapping[str, Growth], rule: Rules, hours: float | None) -> t.Iterator[Finding]:
    """Findings of one port. `hours` between the two looks; None to judge the totals."""
    for name, grown in counters.items():
        meaning = _MEANINGS.get(name)
        measure = _measure(name, grown, rule.limits[name], hours) if meaning and name not in rule.suppressed else None
        if meaning is None or measure is None:
            continue
        if measure[0] > measure[1]:
            yield Finding(meaning.code, meaning.severity, place, name, *measure, course=grown.course)
        elif grown.course == Course.SATURATED:
            yield Finding(Code.SATURATED, Severity.NOTICE, place, name, grown.total, grown.total, course=grown.course)
