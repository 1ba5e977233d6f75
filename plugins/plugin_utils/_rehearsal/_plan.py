# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a rehearsal: what the program in the container gets, and what the report needs to know of it. Pure."""

from __future__ import annotations

import typing as t

from ...module_utils._codes import is_guid, normal_guid
from ...module_utils._errors import RdmaError
from ...module_utils._hosts import natural
from ...module_utils._opensm._partitions._file import parse_partitions
from . import _declared, _steps

if t.TYPE_CHECKING:
    from ._declared import Change, Manager, State
    from ._netlist import Netlist

# ibsim serves ten programs at a time, and the looks at the fabric need some of them.
_MOST_MANAGERS = 7
_KEYS_PER_BLOCK = 32
_HELD: t.Mapping[str, tuple[int, ...]] = {"full": (0x8000,), "limited": (0,), "both": (0x8000, 0)}


def expected_pkeys(state: State, fabric: Netlist) -> dict[str, list[int]]:
    """The P_Keys that the declared partitions give each port of an adapter, by simulated GUID. Empty without partitions."""
    rules = parse_partitions(state.partitions)
    own = state.managers[0].port.simulated
    found: dict[str, list[int]] = {port.simulated: [] for port in fabric.ports} if rules else {}
    for rule in rules:
        held: dict[str, str] = {}
        for who, membership in rule.entries:
            if is_guid(who):
                held[normal_guid(who)] = membership
            elif who == "SELF":
                held[own] = membership
            elif who in ("ALL", "ALL_CAS"):
                held.update(dict.fromkeys(found, membership))
        for guid, membership in held.items():
            if guid in found:
                found[guid] += [rule.pkey | bit for bit in _HELD.get(membership, (0,))]
    return found


def _summary(state: State, fabric: Netlist) -> dict[str, t.Any]:
    engine = state.managers[0].instance.options.get("routing_engine")
    return {
        "managers": [
            {"host": each.host, "part": each.role, "priority": each.instance.priority, "guid": each.port.guid, "node": each.port.description}
            for each in state.managers
        ],
        "resting": list(state.resting),
        "engines": engine if isinstance(engine, list) else str(engine or "").split(","),
        "pkeys": expected_pkeys(state, fabric),
        "absent": ["%s of partition 0x%04x" % (each.host, each.pkey) for each in state.absentees],
    }


def _observer(fabric: Netlist, taken: t.Collection[str]) -> str:
    """A node without a subnet manager, where there is one."""
    return next((port.place for port in fabric.ports if port.place not in taken and port.number == 1), fabric.ports[0].place)


def plan(before: State, after: State, fabric: Netlist, *, template: str, patience: int, restart: bool = False) -> dict[str, t.Any]:
    """What the program gets, as `given`, and what the report needs, as `summary`. Raises RdmaError."""
    hosts = list(dict.fromkeys(manager.host for state in (before, after) for manager in state.managers))
    if len(hosts) > _MOST_MANAGERS:
        raise RdmaError("%d hosts run subnet managers: %s; allowed: up to %d in a rehearsal" % (len(hosts), ", ".join(hosts), _MOST_MANAGERS))
    ids = {host: "m%d" % number for number, host in enumerate(hosts, 1)}

    def rendered(state: State) -> list[Manager]:
        return [_declared.with_files(manager, ids[manager.host], template) for manager in state.managers]

    places = {manager.host: manager.port for state in (before, after) for manager in state.managers}
    moved = [manager.host for manager in before.managers if places[manager.host] != manager.port]
    if moved:
        raise RdmaError("the subnet manager of %s changes its port, which can't be rehearsed: leave that out of the change" % ", ".join(moved))
    partitions = [rule for state in (before, after) for rule in parse_partitions(state.partitions)]
    given = {
        "topology": fabric.text,
        "limits": list(fabric.limits),
        "observer": _observer(fabric, [port.place for port in places.values()]),
        "managers": {ids[host]: port.place for host, port in places.items()},
        "members": [port.simulated[2:] for port in fabric.ports] if partitions else [],
        "blocks": 1 + len(partitions) // _KEYS_PER_BLOCK,
        "phases": _steps.phases(rendered(before), rendered(after), ids=ids, patience=patience, restart=restart),
    }
    summary = {
        "hosts": {identifier: host for host, identifier in ids.items()},
        "switches": fabric.switches,
        "adapters": fabric.adapters,
        "ports": {port.simulated[2:]: [port.guid, port.description] for port in fabric.ports},
        "before": _summary(before, fabric),
        "after": _summary(after, fabric),
        "left_out": sorted({*before.left_out, *after.left_out}, key=natural),
        "not_simulated": list(fabric.left_out),
    }
    return {"given": given, "summary": summary}


def changes_of(change: Change, *, restart: bool) -> list[str]:
    """The planned change in words."""
    words = ["the hosts of group opensm, in their order: %s" % ", ".join(change.managers)] if change.managers else []
    return [*words, *sorted(change.variables), *(["all subnet managers are restarted, one at a time"] if restart else [])]
