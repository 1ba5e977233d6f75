# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One look at a fabric as metrics in the Prometheus text format, and the state kept between two looks. Pure, and linear in the number of links."""

from __future__ import annotations

import json
import typing as t

from .._fabric._counters._types import COUNTERS, Counts, Course, Place, Sort, growth
from .._fabric._gap import Code, Gap
from .._fabric._subnet import lanes, lower
from .._foreign import read_table
from .._record import read_row
from .._schema._ib_counters import OPTIONS as OF_COUNTERS
from .._tools import _sminfo
from .._tools._smpquery import LANE_GBPS

if t.TYPE_CHECKING:
    from .._fabric._counters._types import Spot
    from .._fabric._subnet import Link, Subnet

# In bytes, the base unit of Prometheus.
_GIGABIT = 1e9 / 8
_ACTIVE = "Active"
_WAIT = "PortXmitWait"
# With one of these gaps, less than the fabric was read.
_FAILURES = frozenset((Code.FAILED, Code.NOT_INSTALLED, Code.NO_PORT, Code.NO_LINK))

Labels = t.Tuple[t.Tuple[str, str], ...]
Samples = t.Dict[Labels, float]
"""Labels and value of each series: node_exporter rejects a file with two values for one series."""

# Node names come from the fabric and may contain any character.
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def kind_of(metric: str) -> str:
    """The type of a metric. By convention, the names of counters end with `_total`."""
    return "counter" if metric.endswith("_total") else "gauge"


def labels(**values: object) -> Labels:
    return tuple((name, str(value)) for name, value in values.items())


def _value(number: float) -> str:
    return "%d" % number if number % 1 == 0 else repr(round(number, 3))


def _series(name: str, pairs: Labels, number: float) -> str:
    inside = ",".join('%s="%s"' % (label, value.translate(_ESCAPES)) for label, value in pairs)
    return "%s{%s} %s\n" % (name, inside, _value(number))


def render(metrics: t.Mapping[str, str], samples: t.Mapping[str, Samples]) -> str:
    """The text of all metrics that have samples, in the order of `metrics`."""
    parts = []
    for name, meaning in metrics.items():
        found = samples.get(name)
        if found:
            parts.append("# HELP %s %s\n# TYPE %s %s\n" % (name, meaning, name, kind_of(name)))
            parts += [_series(name, pairs, number) for pairs, number in found.items()]
    return "".join(parts)


# The help text of each metric, in the order of the file.
METRICS: t.Mapping[str, str] = {
    "rdma_fabric_sample_success": "Whether all tools answered at the last sample.",
    "rdma_fabric_sample_timestamp_seconds": "When the last sample ended, in seconds since 1970.",
    "rdma_fabric_sample_success_timestamp_seconds": "When the last sample ended that succeeded, in seconds since 1970.",
    "rdma_fabric_sample_duration_seconds": "How long the last sample took.",
    "rdma_fabric_sample_problems": "What could not be read, by code and tool.",
    "rdma_fabric_sampled": "Whether this host reads the fabric; 0 where the master subnet manager runs on another host.",
    "rdma_fabric_subnet_managers": "Number of subnet managers by state.",
    "rdma_fabric_subnet_manager_state": "State of a subnet manager: 0 not active, 1 discovering, 2 standby, 3 master.",
    "rdma_fabric_subnet_manager_priority": "Priority of a subnet manager.",
    "rdma_fabric_master_changes_total": "How often another subnet manager became master.",
    "rdma_fabric_master_change_timestamp_seconds": "When this host saw that for the last time, in seconds since 1970; 0 for never.",
    "rdma_fabric_nodes": "Number of nodes by type.",
    "rdma_fabric_links": "Number of links.",
    "rdma_fabric_links_degraded": "Number of links below what both of their ends can do.",
    "rdma_fabric_ports_read": "Number of ports whose counters were read.",
    "rdma_fabric_link_active": "Whether both ends of a link are active.",
    "rdma_fabric_link_lanes": "Width of a link: lanes in use.",
    "rdma_fabric_link_lanes_max": "Lanes that both ends of a link can use.",
    "rdma_fabric_link_lane_bytes_per_second": "Speed of a link: signalling rate of a lane.",
    "rdma_fabric_link_lane_max_bytes_per_second": "Signalling rate of a lane that both ends of a link can use.",
    "rdma_fabric_port_errors_total": "Error counters of ports that are above zero.",
    "rdma_fabric_port_wait_ticks_total": "PortXmitWait: ticks in which a port had data to send and no credits.",
    "rdma_fabric_port_saturated_counters": "Number of error counters of a port that stand at their maximum and count no more.",
    "rdma_fabric_port_errors_limit": "How much an error counter may grow per hour, with the code of the finding.",
}
_LIMITS: Samples = {
    labels(counter=name, code=counter.code.value): counter.per_hour
    for name, counter in COUNTERS.items()
    if counter.code and counter.sort == Sort.ERROR and name not in OF_COUNTERS["suppress"]["default"]
}


class State(t.NamedTuple):
    """The state of a fabric that is kept between two looks."""

    master: str = ""
    """Port GUID of the last master that was seen."""
    changes: int = 0
    changed: float = 0
    """Seconds since 1970, as in `succeeded`."""
    succeeded: float = 0


class View(t.NamedTuple):
    """One look at a fabric. What was not queried or not answered is None."""

    fabric: str
    ended: float
    seconds: float = 0
    sampled: bool = True
    managers: tuple[_sminfo.SmInfo, ...] | None = None
    """Empty where no subnet manager answers."""
    subnet: Subnet | None = None
    spots: t.Mapping[Place, Spot] = {}
    counts: t.Mapping[Place, Counts] | None = None
    gaps: tuple[Gap, ...] = ()

    @property
    def succeeded(self) -> bool:
        codes = {gap.code for gap in self.gaps}
        # Without a subnet manager, counters can't be read. That is a state of the fabric, not an incomplete look.
        unfinished = Code.UNFINISHED in codes and Code.NO_SUBNET_MANAGER not in codes
        return not unfinished and _FAILURES.isdisjoint(codes)


def next_state(state: State, look: View) -> State:
    """The next state. A time without a master is no change: the same master may come back."""
    masters = _sminfo.masters(look.managers)
    if look.succeeded:
        state = state._replace(succeeded=look.ended)
    if not masters or state.master in masters:
        return state
    if not state.master:
        return state._replace(master=masters[0])
    return state._replace(master=masters[0], changes=state.changes + 1, changed=look.ended)


def written(states: t.Mapping[str, State]) -> str:
    return json.dumps({name: state._asdict() for name, state in sorted(states.items())}) + "\n"


def parse_states(text: str) -> dict[str, State]:
    """The states by fabric. Entries that `written` did not create are left out."""
    found = {name: read_row(State, row) for name, row in read_table(text).items()}
    return {name: state for name, state in found.items() if state and all(0 <= number < 1e12 for number in state[1:])}


class _Table(t.Dict[str, Samples]):
    """Samples by metric name."""

    def put(self, name: str, pairs: Labels, number: float) -> None:
        self.setdefault("rdma_fabric_" + name, {})[pairs] = number


def samples_of(looks: t.Iterable[View], states: t.Mapping[str, State]) -> dict[str, Samples]:
    """The samples by metric name. `states`: those after the looks."""
    table = _Table({"rdma_fabric_port_errors_limit": _LIMITS})
    for look in looks:
        _about_sample(table, look, states.get(look.fabric, State()))
        _about_managers(table, look)
        if look.subnet and look.subnet.nodes:
            _about_subnet(table, look.fabric, look.subnet)
        if look.counts is not None:
            _about_counters(table, look, look.counts)
    return table


def _about_sample(table: _Table, look: View, state: State) -> None:
    fabric = labels(fabric=look.fabric)
    table.put("sample_success", fabric, look.succeeded)
    table.put("sample_timestamp_seconds", fabric, look.ended)
    table.put("sample_success_timestamp_seconds", fabric, state.succeeded)
    table.put("sample_duration_seconds", fabric, look.seconds)
    table.put("sampled", fabric, look.sampled)
    table.put("master_changes_total", fabric, state.changes)
    table.put("master_change_timestamp_seconds", fabric, state.changed)
    for gap in look.gaps:
        pairs = labels(fabric=look.fabric, code=gap.code.value, tool=gap.tool)
        table.put("sample_problems", pairs, table.get("rdma_fabric_sample_problems", {}).get(pairs, 0) + gap.total)


def _about_managers(table: _Table, look: View) -> None:
    if look.managers is None:
        return
    names = {spot.port_guid: spot.name for spot in look.spots.values()}
    for state, is_counted in (("master", lambda sm: sm.is_master), ("standby", lambda sm: sm.is_standby)):
        table.put("subnet_managers", labels(fabric=look.fabric, state=state), sum(map(is_counted, look.managers)))
    # Other looks know no node names: these come from the look at the whole fabric.
    for manager in look.managers if look.sampled else ():
        pairs = labels(fabric=look.fabric, guid=manager.guid, node=names.get(manager.guid, ""))
        table.put("subnet_manager_state", pairs, manager.state)
        table.put("subnet_manager_priority", pairs, manager.priority)


def _about_subnet(table: _Table, fabric: str, subnet: Subnet) -> None:
    for kind in ("ca", "router", "switch"):
        table.put("nodes", labels(fabric=fabric, type=kind), sum(node.kind == kind for node in subnet.nodes))
    table.put("links", labels(fabric=fabric), len(subnet.links))
    table.put("links_degraded", labels(fabric=fabric), sum(link.degraded is True for link in subnet.links))
    for link in subnet.links:
        _about_link(table, fabric, link)


def _about_link(table: _Table, fabric: str, link: Link) -> None:
    near, far = link.ends
    pairs = labels(fabric=fabric, node=near.name, guid=near.node_guid, port=near.port, peer=far.name, peer_port=far.port)
    if near.state and far.state:
        table.put("link_active", pairs, near.state == far.state == _ACTIVE)
    for name, width in (("link_lanes", lower(near.width, far.width)), ("link_lanes_max", link.max_width)):
        count = lanes(width)
        if count:
            table.put(name, pairs, count)
    for name, speed in (("link_lane_bytes_per_second", lower(near.speed, far.speed)), ("link_lane_max_bytes_per_second", link.max_speed)):
        if speed in LANE_GBPS:
            table.put(name, pairs, LANE_GBPS[speed] * _GIGABIT)


def _about_counters(table: _Table, look: View, counts: t.Mapping[Place, Counts]) -> None:
    table.put("ports_read", labels(fabric=look.fabric), len(counts))
    for place, found in counts.items():
        spot = look.spots[place]
        pairs = labels(fabric=look.fabric, node=spot.name, guid=spot.node_guid, port=spot.port)
        saturated = 0
        for name, grown in growth(None, found).items():
            if name == _WAIT:
                table.put("port_wait_ticks_total", pairs, grown.total)
            elif COUNTERS[name].sort == Sort.ERROR:
                table.put("port_errors_total", (*pairs, ("counter", name)), grown.total)
                saturated += grown.course == Course.SATURATED
        if saturated:
            table.put("port_saturated_counters", pairs, saturated)
