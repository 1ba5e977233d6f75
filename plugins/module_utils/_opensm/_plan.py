# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the changes from the subnet managers that a node has to those it is to have. Pure.

No part of a plan depends on whether a package is installed, so check mode before the installation predicts the same changes as
the run.
"""

from __future__ import annotations

import typing as t

from .._codes import MTUS, RATES
from .._errors import Refused
from .._host._files import HEADER, file_change
from .._host._units import MASKED, STATE, switch
from .._plan import Change, Kind, Plan, changes_of
from .._tools import _node_names as _nodenames
from . import _places, _unit
from ._conf import RELOAD, RESTART, RUNNING, parse_conf, strongest
from ._found import PACKAGE, Found
from ._partitions._entry import DEFAULT_PKEY
from ._partitions._file import gone, names_rule, parse_partitions, regrouped

if t.TYPE_CHECKING:
    from .._facts._ports import Port
    from ._wanted import Wanted

# States of a unit or process, besides those of _conf.py. A replaced unit runs a program that is no longer on disk.
STOPPED, REPLACED = "stopped", "replaced"


def _packaged(unit: str) -> str:
    """The unit file of a packaged unit: `opensm@.service` for `opensm@0x1.service`."""
    name, instance, rest = unit.partition("@")
    return "%s@.%s" % (name, rest.rpartition(".")[2]) if instance and "." in rest else unit


def _masks(found: Found, stay: t.Collection[str]) -> list[Change]:
    kept = {_packaged(unit) for unit in stay}
    return [switch(unit, unit in found.masked, True, aspect=MASKED) for unit in _places.PACKAGED if unit not in kept]


def _record(found: Found, entries: t.Collection[str]) -> Change | None:
    """The change to a record with these entries; without entries, the record is removed."""
    texts = [HEADER + "".join(entry + "\n" for entry in sorted(set(lines))) if lines else "" for lines in (found.recorded, entries)]
    return file_change(_places.RECORD, *texts)


def _before(found: Found, masked: t.Collection[str]) -> list[str]:
    """The entries of the record about the units that are about to be masked: which of them run, and which start at boot."""
    ran = [_places.RAN + unit for unit in found.running if _packaged(unit) in masked]
    return ran + [_places.BOOTED + unit for unit in found.boots if _packaged(unit) in masked]


def _given_back(wanted: Wanted, found: Found) -> list[Change]:
    """Enable and start the units in whose place the role came. A unit starts its own instances, so these come last."""
    if not wanted.restore or PACKAGE in found.recorded:
        return []
    entries = sorted(found.recorded, key=lambda entry: ("@" in entry, entry))
    ran, booted = (
        [unit for unit in (entry[len(word) :] for entry in entries if entry.startswith(word)) if _packaged(unit) in found.installed]
        for word in (_places.RAN, _places.BOOTED)
    )
    return [switch(unit, unit in found.boots, True) for unit in booted] + [
        Change(Kind.UNIT, unit, STATE, RUNNING if unit in found.running else STOPPED, RUNNING) for unit in ran
    ]


def _removal(wanted: Wanted, found: Found) -> Plan:
    """Remove what the role set up: its units, its files, and the masks on record. Subnet managers of others stay, and come back if they are wanted back."""
    ours = [unit for unit in found.running if _places.fabric_of(unit)]
    return Plan(
        changes_of(
            *(Change(Kind.UNIT, unit, STATE, RUNNING, STOPPED) for unit in ours),
            *_removals(found, (), ()),
            file_change(_nodenames.DEFAULT_PATH, found.node_names, _named(wanted, found, stays=False)),
            *(switch(unit, True, False, aspect=MASKED) for unit in found.masked if unit in found.recorded),
            *_given_back(wanted, found),
            _record(found, [PACKAGE] if wanted.package_installed and PACKAGE in found.recorded else ()),
        )
    )


def _stops(found: Found, keep: t.Collection[str]) -> list[Change]:
    units = [Change(Kind.UNIT, unit, STATE, RUNNING, STOPPED) for unit in found.running if unit not in keep]
    return units + [Change(Kind.PROCESS, str(pid), "opensm", RUNNING, STOPPED) for pid in found.strays if str(pid) not in keep]


def _removals(found: Found, keep: t.Collection[str], keep_files: t.Collection[str]) -> list[Change | None]:
    disabled: list[Change | None] = [switch(unit, True, False) for unit in found.enabled if unit not in keep]
    return disabled + [file_change(path, text, "") for path, text in sorted(found.files.items()) if path not in keep_files]


# Codes of partitions.conf in the units of `opensm_partitions`.
_UNITS: t.Mapping[str, t.Mapping[str, str]] = {
    "mtu": {str(code): "%d" % mtu for mtu, code in MTUS.items()},
    "rate": {str(code): "%g" % rate for rate, code in RATES.items()},
}


def _partition_changes(found: Found, instances: t.Iterable[_unit.Instance], files: t.Mapping[str, str]) -> list[Change]:
    """Of instances that stay: the partitions that are removed, then the broadcast groups of remaining partitions that get another MTU, rate or
    service level while a process has them.
    """
    lost, regroupings = [], []
    for instance in instances:
        path = instance.path(_places.PARTITIONS)
        before, after = found.files.get(path, ""), files[path]
        lost += [Change(Kind.PARTITION, rule.name, instance.fabric, "0x%04x" % rule.pkey, "") for rule in gone(before, after)]
        for rule, flag, *codes in regrouped(before, after) if instance.unit in found.running else ():
            old, new = (_UNITS.get(flag, {}).get(code, code) or "default" for code in codes)
            regroupings.append(Change(Kind.BROADCAST_GROUP, "%s/%s" % (instance.fabric, rule.name), flag, old, new, needs="restart"))
    return lost + regroupings


def require_consent(wanted: Wanted, found: Found) -> None:
    """Raise Refused where the file loses its last partition besides the default one, and the user has not consented."""
    for instance in wanted.instances if not wanted.allow_removal else ():
        path = instance.path(_places.PARTITIONS)
        after = instance.files()[path]
        lost = [rule for rule in gone(found.files.get(path, ""), after) if rule.pkey != DEFAULT_PKEY and not names_rule(wanted.give_up, rule)]
        if lost and not any(rule.pkey != DEFAULT_PKEY for rule in parse_partitions(after)):
            raise Refused(
                "fabric %s would lose all of its partitions: %s (%s). Its ports would have only the default partition, and interfaces on the others would "
                "stop working. Nothing was changed here. The inventory no longer declares them: the name of a variable or group may be wrong. "
                "Next: declare them in opensm_partitions, or set rdma_allow_removal: true"
                % (instance.fabric, ", ".join("%s (0x%04x)" % (rule.name, rule.pkey) for rule in lost), path),
                partitions=[rule.name for rule in lost],
            )


def _named(wanted: Wanted, found: Found, *, stays: bool) -> str:
    """The wanted node-name map. `stays`: an unwanted instance keeps running and keeps reading the file."""
    if not wanted.instances:
        # A file without entries of ours is left untouched.
        return found.node_names if stays or _nodenames.BEGIN not in found.node_names else _nodenames.render(found.node_names, {})
    return found.node_names if wanted.node_names is None else _nodenames.render(found.node_names, *wanted.node_names)


def _state(found: Found, instance: _unit.Instance, files: t.Mapping[str, str]) -> str:
    """What the unit of an instance does now, with regard to its wanted files."""
    if instance.unit not in found.running:
        return STOPPED
    effects = [_unit.file_effect(path, found.files.get(path, ""), text) for path, text in files.items()]
    state = strongest([*effects, RESTART if found.files.get(_places.TEMPLATE, "") != _unit.UNIT_TEXT else RUNNING])
    return REPLACED if instance.unit in found.replaced and state != RESTART else state


def plan(wanted: Wanted, found: Found, stay: t.Collection[str] = ()) -> Plan:
    """The changes after which exactly the wanted instances run and start at boot. Without instances, no subnet manager runs and no package can start one.

    If `present` is false, nothing of ours is left.

    `stay`: units and process IDs that stay as they are, because the fabric would otherwise have no subnet manager.
    Raises InvalidInput for options that the installed opensm does not accept.
    """
    if not wanted.present:
        return _removal(wanted, found)
    instances = wanted.instances
    texts = {instance.unit: instance.files(found.template) for instance in instances}
    files = {path: text for own in texts.values() for path, text in own.items()}
    if instances:
        files.update({_places.TEMPLATE: _unit.UNIT_TEXT, _places.ROTATION: _unit.rotation_text(instances)})
    fabrics = {_places.fabric_of(unit) for unit in stay} - {""}
    kept = {_places.TEMPLATE, _places.ROTATION} if fabrics else set()
    kept.update(path for fabric in fabrics for path in (_places.silence_path(fabric), *(_places.file_path(fabric, name) for name in _places.FILES)))
    keep = {*texts, *stay}
    masks = _masks(found, stay)
    new = [change.subject for change in masks if change.before != change.after]
    changes = (
        *_stops(found, keep),
        *_partition_changes(found, instances, files),
        *_removals(found, keep, {*files, *kept}),
        *(file_change(path, found.files.get(path, ""), text) for path, text in sorted(files.items())),
        file_change(_nodenames.DEFAULT_PATH, found.node_names, _named(wanted, found, stays=bool(fabrics))),
        *(switch(unit, unit in found.enabled, True) for unit in texts),
        *(Change(Kind.UNIT, instance.unit, STATE, _state(found, instance, texts[instance.unit]), RUNNING) for instance in instances),
    )
    # The record comes first: a later removal takes back only what is on record.
    entries = [*found.recorded, *new, *_before(found, new), *([PACKAGE] if wanted.package_installed else [])]
    return Plan(changes_of(_record(found, entries), *masks, *changes))


def started(plan: Plan) -> list[str]:
    """The units that the plan starts or restarts. A unit that only rereads its files is not among them."""
    return [change.subject for change in plan.about(Kind.UNIT, STATE) if change.after == RUNNING and change.before != RELOAD]


def stopped(plan: Plan) -> list[Change]:
    """What the plan stops for good: units and processes."""
    return [change for change in (*plan.about(Kind.UNIT, STATE), *plan.about(Kind.PROCESS)) if change.after == STOPPED]


def bound_to(unit: str, found: Found, ports: t.Sequence[Port], *, free: t.Collection[str] = ()) -> list[Port]:
    """The linked ports that a unit, or a process by its ID, may be bound to. A foreign one may be bound to any port in `free`."""
    text = found.files.get(_places.file_path(_places.fabric_of(unit)), "")
    guid = parse_conf(text).get("guid", "")
    guids = found.bound.get(unit, (guid,) if guid else free)
    return [port for port in ports if port.port_guid in guids and port.infiniband and port.phys_state == "LinkUp"]


def undeclared(stops: t.Sequence[Change], found: Found, *, ports: t.Sequence[Port], declared: t.Collection[str]) -> dict[Change, list[Port]]:
    """Those of `stops`, packaged or started by hand, that are known to be bound to a port outside every declared fabric, with these ports."""
    others = {stop: bound_to(stop.subject, found, ports) for stop in stops if stop.subject in found.bound}
    left = {stop: [port for port in bound if port.port_guid not in declared] for stop, bound in others.items()}
    return {stop: bound for stop, bound in left.items() if bound}
