# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan how to enable the declared upper-layer protocols, and disable others that the collection has enabled. Pure.

Enabling a protocol is one change: distributions differ in what its packages enable and start themselves, and so in
what is left to do. For a protocol that is already enabled, each deviation is a change.
"""

from __future__ import annotations

from .._facts._ulps import Kept, Record
from .._host._files import file_change
from .._host._units import Unit
from .._kmod._config import ULPS_PATH, load_text
from .._plan import Change, Kind, Pending, Plan, changes_of
from .._tools._openibd import value_of
from ._catalogue import AT_BOOT, PROTOCOLS, WITH_HARDWARE, Protocol, Service, modules_of
from ._found import Found
from ._wanted import Wanted

# Active once systemd has detected an RDMA device.
HARDWARE = "rdma-hw.target"

# Unit-file states that need no boot link: static units are started by others, generated ones are created at each boot.
_ENABLED = ("alias", "enabled", "generated", "indirect", "static")


def is_enabled(unit: Unit) -> bool:
    return unit.enabled in _ENABLED


def runs(service: Service, wanted: Wanted, found: Found) -> bool:
    return wanted.start and service.start != AT_BOOT and (service.start != WITH_HARDWARE or found.unit(HARDWARE).active == "active")


def unit_names(wanted: Wanted, record: Record) -> list[str]:
    """All units to look at."""
    declared = {service.name for name in wanted.names for service in PROTOCOLS[name].services}
    return sorted(declared | {unit for kept in record.protocols.values() for unit in kept.units} | {HARDWARE})


def turned_off(wanted: Wanted, found: Found) -> list[str]:
    """The protocols that were enabled and are no longer declared."""
    return sorted(name for name in found.record.protocols if name not in wanted.names)


def units_off(wanted: Wanted, found: Found) -> list[str]:
    """The units to stop and disable."""
    needed = {service.name for name in wanted.names for service in PROTOCOLS[name].services}
    units = {unit for name in turned_off(wanted, found) for unit in found.record.protocols[name].units}
    return sorted(unit for unit in units - needed if found.unit(unit).exists)


def conf_values(wanted: Wanted, found: Found) -> dict[str, str]:
    """The wanted values of keys in openib.conf: those of the protocols, and the former ones of protocols that are disabled."""
    values: dict[str, str] = {}
    if not found.conf_text:
        return values
    for name in turned_off(wanted, found):
        values.update({key: value for key, value in found.record.protocols[name].conf.items() if key not in wanted.declared_conf})
    for name in wanted.names if wanted.source != "inbox" else ():
        values.update(PROTOCOLS[name].conf)
    return values


def _service_changes(service: Service, wanted: Wanted, found: Found) -> tuple[Change | None, ...]:
    unit, active = found.unit(service.name), runs(service, wanted, found)
    if not unit.exists:
        return () if service.optional else (Change(Kind.UNIT, unit.name, "state", "not installed", "active" if active else "enabled"),)
    return (
        None if is_enabled(unit) else Change(Kind.UNIT, unit.name, "enabled", unit.enabled or "disabled", "enabled"),
        Change(Kind.UNIT, unit.name, "state", unit.active, "active") if active and not unit.runs else None,
    )


def deviations(protocol: Protocol, wanted: Wanted, found: Found) -> tuple[Change, ...]:
    """The properties of a protocol that are not as wanted."""
    conf = protocol.conf if wanted.source != "inbox" and found.conf_text else {}
    return changes_of(
        *(Change(Kind.OPENIB_CONF, key, "", value_of(found.conf_text, key) or "", value) for key, value in sorted(conf.items())),
        *(_load(name) for name in protocol.modules if wanted.start and name not in found.loaded),
        *(change for service in protocol.services for change in _service_changes(service, wanted, found)),
    )


def _load(name: str, needs: str = "") -> Change:
    return Change(Kind.MODULE, name, "", "not loaded", "loaded", needs)


def _protocol(name: str, before: str, after: str) -> Change:
    return Change(Kind.PROTOCOL, name, "", before, after)


def _turned_on(name: str, wanted: Wanted, found: Found) -> tuple[Change, ...]:
    former = found.record.source
    if name not in found.record.protocols:
        return (_protocol(name, "off", "on"),)
    if former != wanted.source:
        return (_protocol(name, "on, with %s" % former, "on, with %s" % wanted.source),)
    if wanted.renewed:
        return (_protocol(name, "on, before the stack was replaced", "on"),)
    return deviations(PROTOCOLS[name], wanted, found)


def plan(wanted: Wanted, found: Found) -> Plan:
    """The changes. Protocols that are no longer declared come first."""
    return Plan(
        changes_of(
            *(_protocol(name, "on", "off") for name in turned_off(wanted, found)),
            file_change(ULPS_PATH, found.load_text, load_text(modules_of(wanted.names))),
            *(change for name in sorted(wanted.names) for change in _turned_on(name, wanted, found)),
        )
    )


def pending(wanted: Wanted, found: Found) -> tuple[Pending, ...]:
    """The modules that can be loaded only together with the installed driver."""
    if wanted.start or wanted.image:
        return ()
    return tuple(Pending(_load(name, "driver_reload")) for name in modules_of(wanted.names) if name not in found.loaded)


def _kept(protocol: Protocol, wanted: Wanted, found: Found) -> Kept:
    """What disabling the protocol has to undo. `found`: the node before it was enabled."""
    former = found.record.protocols.get(protocol.name, Kept())
    mine = [service.name for service in protocol.services if not service.shared or not is_enabled(found.unit(service.name))]
    conf = {key: value_of(found.conf_text, key) or "no" for key in protocol.conf} if wanted.source != "inbox" and found.conf_text else {}
    conf = {key: value for key, value in conf.items() if value != protocol.conf[key]}
    return Kept(tuple(sorted({*former.units, *mine})), {**conf, **former.conf})


def record_after(wanted: Wanted, found: Found) -> Record:
    """The record of the protocols that are enabled at the end."""
    return Record(wanted.source, {name: _kept(PROTOCOLS[name], wanted, found) for name in wanted.names})


def record_meanwhile(wanted: Wanted, found: Found) -> Record:
    """The record during the changes: if they are interrupted, the next run undoes or completes them."""
    after = record_after(wanted, found)
    return Record(after.source, {**found.record.protocols, **after.protocols})
