# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What counters say of a fabric: those that are beyond their limit. Pure."""

from __future__ import annotations

import math
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._finding import Code, End, Finding, Measure, Topic
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters import COUNTERS, JUDGED, Course, Growth, Sort

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters import Spot

CODES: t.Mapping[str, Code] = {
    "SymbolErrorCounter": Code.SYMBOL_ERRORS,
    "LinkErrorRecoveryCounter": Code.LINK_RECOVERS,
    "LinkDownedCounter": Code.LINK_DOWNED,
    "PortRcvErrors": Code.RECEIVE_ERRORS,
    "PortRcvRemotePhysicalErrors": Code.REMOTE_ERRORS,
    "PortRcvSwitchRelayErrors": Code.RELAY_ERRORS,
    "PortXmitDiscards": Code.DISCARDS,
    "PortXmitConstraintErrors": Code.CONSTRAINT_ERRORS,
    "PortRcvConstraintErrors": Code.CONSTRAINT_ERRORS,
    "LocalLinkIntegrityErrors": Code.LINK_INTEGRITY,
    "ExcessiveBufferOverrunErrors": Code.BUFFER_OVERRUNS,
    "QP1Dropped": Code.MANAGEMENT_DROPS,
    "VL15Dropped": Code.MANAGEMENT_DROPS,
    "PortXmitWait": Code.CONGESTION,
}


EFFECTIVE_BER = "EffectiveBER"
"""The share of the bits that are wrong after error correction. No counter, but judged beside them, and not by the hour."""
_DEFAULT_BER = 1e-12


class Rules(t.NamedTuple):
    limits: t.Mapping[str, float]
    """Per hour, by counter."""
    suppressed: frozenset[str] = frozenset()
    effective_ber: float = _DEFAULT_BER
    """A share of the bits, however long that took; infinity where it is suppressed."""


def rules(thresholds: t.Mapping[str, float], suppressed: t.Iterable[str]) -> Rules:
    left = frozenset(suppressed)
    ber = math.inf if EFFECTIVE_BER in left else thresholds.get(EFFECTIVE_BER, _DEFAULT_BER)
    return Rules({name: thresholds.get(name, COUNTERS[name].per_hour) for name in JUDGED}, left, ber)


def _measure(name: str, grown: Growth, *, limit: float, hours: float | None) -> Measure | None:
    """None where nothing can be said.

    Less than an hour counts as one: a single event in a few seconds makes no rate. Ticks come in such numbers that they do.
    """
    waits = COUNTERS[name].sort == Sort.WAIT
    if hours is None:
        # How long it took to wait so much is not known.
        return None if waits else Measure(grown.total, limit)
    if grown.delta is None:
        return None
    return Measure(grown.delta / hours, limit) if waits else Measure(grown.delta, limit * max(hours, 1))


def judge(spot: Spot, counters: t.Mapping[str, Growth], *, rule: Rules, hours: float | None) -> t.Iterator[Finding]:
    """Findings of one port. `hours` between the two looks; None to judge the totals."""
    for name, grown in counters.items():
        code = CODES.get(name)
        measure = _measure(name, grown, limit=rule.limits[name], hours=hours) if code and name not in rule.suppressed else None
        if code is None or measure is None:
            continue
        if measure.found <= measure.limit:
            if grown.course != Course.SATURATED:
                continue
            code, measure = Code.SATURATED, Measure(grown.total, grown.total)
        end = End(spot.node_guid, spot.name, spot.port)
        yield Finding(code, Topic.COUNTER, aspect=name, detail=grown.course.value, measure=measure, ends=(end,))


def judge_rate(spot: Spot, rate: float, limit: float) -> t.Iterator[Finding]:
    """The finding about the bit errors of one port, if there is one."""
    if rate > limit:
        end = End(spot.node_guid, spot.name, spot.port)
        yield Finding(Code.BIT_ERRORS, Topic.COUNTER, aspect=EFFECTIVE_BER, measure=Measure(rate, limit), ends=(end,))
