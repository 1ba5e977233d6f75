# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Port counters: which ports have them, what they count, their growth between two looks, and how a file stores a look. Pure."""

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
    """Counts events that should not happen. Stops at its maximum."""
    WAIT = "wait"
    """Counts ticks, many of them on a busy port."""
    DATA = "data"


class Counter(t.NamedTuple):
    sort: Sort
    bits: int
    """The width in PortCounters, in bits; in PortCountersExtended all counters have 64."""
    per_hour: float = 0
    """How much it may grow per hour without a finding."""
    code: Code | None = None
    """The code of the finding; None for a counter that is not judged."""


_DATA = Counter(Sort.DATA, 32)
# By their names in infiniband-diags, in the order of the specification.
COUNTERS: t.Mapping[str, Counter] = {
    "SymbolErrorCounter": Counter(Sort.ERROR, 16, 10, Code.SYMBOL_ERRORS),
    "LinkErrorRecoveryCounter": Counter(Sort.ERROR, 8, 1, Code.LINK_RECOVERS),
    # A reboot takes a link down, and loading a driver may do so once more.
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
    # A tenth of the time if a tick is 4 ns. Its length is up to the vendor.
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
"""Port GUID and port number."""


class Course(str, enum.Enum):
    """What happened to a counter between two looks."""

    NORMAL = "normal"
    RESET = "reset"
    """It was cleared, by any tool, and counts from zero."""
    SATURATED = "saturated"
    """It is at its maximum, and may have missed any number of events."""
    WRAPPED = "wrapped"
    """It exceeded its maximum, and continued from zero."""


class Growth(t.NamedTuple):
    total: int
    delta: int | None
    """None where nothing can be compared. A lower bound after a reset, and for a saturated counter."""
    course: Course


def _maximum(name: str, reading: Reading) -> int:
    return (1 << (_WIDE if reading.wide else COUNTERS[name].bits)) - 1


def _has_wrapped(name: str, before: int, now: Reading) -> bool:
    """Whether a counter that is lower has wrapped. Error counters don't wrap, nor do counters that were at their maximum."""
    top = _maximum(name, now)
    return COUNTERS[name].sort != Sort.ERROR and top * 3 // 4 < before < top and now.value < top // 4


def _is_cut(name: str, before: int, now: Reading) -> bool:
    """Whether the 64-bit counter that was read before could not be read this time, and the narrow one is at its maximum."""
    return not now.wide and before > now.value == _maximum(name, now)


def growth(before: Counts | None, now: Counts) -> dict[str, Growth]:
    """The growth of each counter that is or was above zero. If one counter was reset, all lower counters count as reset."""
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
    """One counter, read in its narrow and its 64-bit form. A port without the latter shows it as zero."""
    if extended is not None and extended >= (basic or 0):
        return Reading(extended, True)
    return Reading(basic or 0)


class Spot(t.NamedTuple):
    """A port, and the other end of its link; "" and 0 without a link."""

    node_guid: str
    name: str
    """The name of the node."""
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
    """All ports of switches, including port 0, and the ports of other nodes that have a link."""
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
    """The ports with these numbers of these nodes; without numbers, all ports that a cable can be in, so without port 0."""
    return [spot for spot in spots.values() if spot.node_guid in nodes and spot.port and (not numbers or spot.port in numbers)]


_VERSION = 1


class Sample(t.NamedTuple):
    time: float
    """Seconds since 1970."""
    counts: t.Mapping[Place, Counts]
    """The counters of each port that was read. Counters with the value zero may be missing."""


def written(sample: Sample) -> str:
    ports = {"%s/%d" % place: {name: each.value for name, each in counts.items() if each.value} for place, counts in sorted(sample.counts.items())}
    return json.dumps({"version": _VERSION, "time": round(sample.time, 3), "ports": ports}, separators=(",", ":")) + "\n"


def _is_number(value: t.Any, kinds: t.Any, end: float) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool) and 0 <= value < end


def parse_sample(content: str) -> Sample | None:
    """Parse a sample; None for anything that `written` did not create."""
    table = read_table(content)
    ports = table.get("ports")
    time: t.Any = table.get("time")
    # Limit the time to some thousand years.
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
    """The hours between two times; None where the clock did not advance."""
    seconds = later - earlier
    return seconds / 3600 if math.isfinite(seconds) and seconds > 0 else None
