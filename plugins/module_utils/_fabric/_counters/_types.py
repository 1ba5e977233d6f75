# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counters of ports: which ports have them, what they count, how far they grew between two looks, and how a file keeps a look. Pure."""

from __future__ import annotations

import enum
import json
import math
import typing as t

from ..._finding import Code, End
from ..._foreign import decimal, read_table

if t.TYPE_CHECKING:
    from .._subnet import Subnet

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
    code: Code | None = None
    """That of the finding; None for what is not judged."""


_DATA = Counter(Sort.DATA, 32)
# By the names that the diagnostics have for them, in the order of the specification.
COUNTERS: t.Mapping[str, Counter] = {
    "SymbolErrorCounter": Counter(Sort.ERROR, 16, 10, Code.SYMBOL_ERRORS),
    "LinkErrorRecoveryCounter": Counter(Sort.ERROR, 8, 1, Code.LINK_RECOVERS),
    # A reboot takes a link down, and the loading of a driver may do it once more.
    "LinkDownedCounter": Counter(Sort.ERROR, 8, 2, Code.LINK_DOWNED),
    "PortRcvErrors": Counter(Sort.ERROR, 16, 10, Code.RECEIVE_ERRORS),
    "PortRcvRemotePhysicalErrors": Counter(Sort.ERROR, 16, 100, Code.REMOTE_ERRORS),
    "PortRcvSwitchRelayErrors": Counter(Sort.ERROR, 16, 100, Code.RELAY_ERRORS),
    "PortXmitDiscards": Counter(Sort.ERROR, 16, 100, Code.DISCARDS),
    "PortXmitConstraintErrors": Counter(Sort.ERROR, 8, 0, Code.CONSTRAINT_ERRORS),
    "PortRcvConstraintErrors": Counter(Sort.ERROR, 8, 0, Code.CONSTRAINT_ERRORS),
    "LocalLinkIntegrityErrors": Counter(Sort.ERROR, 4, 0, Code.LINK_INTEGRITY),
    "ExcessiveBufferOverrunErrors": Counter(Sort.ERROR, 4, 0, Code.BUFFER_OVERRUNS),
    "QP1Dropped": Counter(Sort.ERROR, 16, 100, Code.MANAGEMENT_DROPS),
    "VL15Dropped": Counter(Sort.ERROR, 16, 100, Code.MANAGEMENT_DROPS),
    # A tenth of the time where a tick is 4 ns. Its length is up to the vendor.
    "PortXmitWait": Counter(Sort.WAIT, 32, 1e11, Code.CONGESTION),
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


class Spot(t.NamedTuple):
    """A port, and the other end of its link; "" and 0 without one."""

    node_guid: str
    name: str
    """Of the node."""
    port: int
    port_guid: str
    lid: int
    peer_node_guid: str = ""
    peer_name: str = ""
    peer_port: int = 0

    @property
    def place(self) -> Place:
        return self.port_guid, self.port

    @property
    def end(self) -> End:
        return End(self.node_guid, self.name, self.port)


def spots_of(subnet: Subnet) -> dict[Place, Spot]:
    """All ports of switches, among them port 0, and those of other nodes that have a link."""
    found: dict[Place, Spot] = {}
    for node in subnet.nodes:
        for number in range(node.port_count + 1) if node.port_guid else ():
            found[node.port_guid, number] = Spot(node.guid, subnet.names[node.guid], number, node.port_guid, node.lid)
    for port in subnet.ports:
        peer = subnet.names.get(port.peer_node_guid, "")
        spot = Spot(port.node_guid, port.name, port.port, port.port_guid, port.lid, port.peer_node_guid, peer, port.peer_port)
        found[spot.place] = spot
    return found


def named(spots: t.Mapping[Place, Spot], nodes: t.Collection[str], numbers: t.Collection[int]) -> list[Spot]:
    """The ports of these nodes, all of them without numbers. Port 0 is none that a cable can be in."""
    return [spot for spot in spots.values() if spot.node_guid in nodes and spot.port and (not numbers or spot.port in numbers)]


_VERSION = 1


class Sample(t.NamedTuple):
    time: float
    """Seconds since 1970."""
    counts: t.Mapping[Place, Counts]
    """By port that was read. Counters of zero may be missing."""


def written(sample: Sample) -> str:
    ports = {"%s/%d" % place: {name: each.value for name, each in counts.items() if each.value} for place, counts in sorted(sample.counts.items())}
    return json.dumps({"version": _VERSION, "time": round(sample.time, 3), "ports": ports}, separators=(",", ":")) + "\n"


def _is_number(value: t.Any, kinds: t.Any, end: float) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool) and 0 <= value < end


def parse_sample(content: str) -> Sample | None:
    """None for anything that `written` did not make."""
    table = read_table(content)
    ports = table.get("ports")
    time: t.Any = table.get("time")
    # Within thousands of years.
    if table.get("version") != _VERSION or not _is_number(time, (int, float), 1e12) or not isinstance(ports, dict):
        return None
    found = {}
    for name, values in ports.items():
        guid, _slash, number = name.partition("/")
        port = decimal(number)
        known = {counter: value for counter, value in values.items() if counter in COUNTERS} if isinstance(values, dict) else None
        if port is None or known is None or not all(_is_number(value, int, 1 << 64) for value in known.values()):
            return None
        found[guid, port] = {counter: Reading(value) for counter, value in known.items()}
    return Sample(time, found)


def hours_between(earlier: float, later: float) -> float | None:
    """None where the clock did not go forward."""
    seconds = later - earlier
    return seconds / 3600 if math.isfinite(seconds) and seconds > 0 else None
