# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the changes on a node. Pure: every decision depends only on the wanted and the found state."""

from __future__ import annotations

import typing as t

from .._errors import Refused, Undecided
from .._foreign import hexadecimal
from .._host._files import file_change
from .._host._saved import settled, text_of
from .._host._units import switch
from .._plan import Change, Kind, Pending, Plan, changes_of
from . import _boot, _registry, _rename, _takeover
from ._backend import Backend, Interfaces
from ._found import Found, Record, Takeover
from ._identity import coming
from ._linkplan import canonical, fixed, interface_changes, reasons_of, removal_changes, unequal_routes
from ._saved import LEDGER
from ._todo import Dissent, IpoibPlan
from ._wanted import Interface, Naming, Wanted

_PLACES = (
    "names can be swapped only while all of these interfaces are down: take them down ('ip link set dev NAME down') on a node that runs no jobs, or declare "
    "names that no interface has"
)
_LENT = (
    "ipoib_adopt would lose addresses that come from DHCP or a router: %s. Interfaces of the collection have fixed addresses only. Next: declare these "
    "addresses if they may be fixed, or have the network assign none, or remove the interface from ipoib_interfaces"
)
_STUCK = (
    "ipoib_adopt can't take the interface out of a file that matches by a pattern, that has drop-ins or a namesake in another folder, or that belongs to "
    "another back-end, a package or a generator"
)


def plan(wanted: Wanted, found: Found) -> IpoibPlan:
    """Compare wanted with found. Raises Refused for harmful changes; with `wanted.rollback`, a cut of the management connection is only reported.

    Raises Undecided where a condensed state does not suffice.
    """
    backend, interfaces = _registry.named(wanted.backend), wanted.interfaces
    taken, former = _taken(wanted, found, backend), found.files
    found = _takeover.after(found, taken)
    records = _registry.recorded(found.files)
    names = {interface.name for interface in interfaces}
    ending = {name for name in records if name not in names}
    sorted_out = _rename.sort_out(wanted.namings, found, ending)
    if sorted_out.taken:
        raise Refused("%s; %s" % ("; ".join(sorted_out.taken), _PLACES), taken=list(sorted_out.taken))
    renames, later = sorted_out.now, sorted_out.later
    kept = _kept(found, interfaces, later, records=records)
    deferred = _rename.waiting(later, interfaces)
    live = [interface for interface in interfaces if interface.name not in deferred]
    # Dissents by the present names, which the back-end knows.
    dissents = backend.dissents(live, found)
    found = found._replace(netdevs=sorted_out.netdevs)
    staying = {interface.name for interface in kept}
    gone = [record for name, record in records.items() if name in ending - staying]
    removed = tuple(sorted(gone, key=lambda record: (_rank(found, record.name), record.name)))
    # A back-end that applies its files at once would take down an interface that is up under its old name.
    rendered = [*interfaces, *kept] if backend.acts_on_files else interfaces
    files = wanted_files(found, rendered, backend, namings=wanted.namings)
    _refuse_giving_up(wanted, removed)
    _refuse(found, wanted, backend, records=records, paths=files)
    # In an image, all that is left is up to the boot.
    present = [] if wanted.image else live
    steps = [change for each in present for change in interface_changes(each, found, record=records.get(each.name), removed=ending)]
    changing = {change.subject for change in steps}
    _takeover.refuse(taken, found, backend, interruption=wanted.interruption, changing=changing)
    _refuse_losing(taken, interfaces)
    if taken.losses and found.foreign is not None:
        # The texts are on the node.
        raise Undecided
    changes = [change for record in removed for change in removal_changes(record, found.netdevs.get(record.name))]
    restored = _takeover.restored(found, wanted)
    changes += _file_changes(former, {**taken.files, **files, **restored.files}, last={**taken.files, **restored.files})
    changes += changes_of(switch(_boot.UNIT, found.boot_unit.enabled == "enabled", _boot.UNIT_PATH in files))
    changes += [_rename.change_of(naming) for naming in renames]
    changes += steps
    changes += [each.leftover for each in _registry.BACKENDS if each.leftover and each.presence(found).unfinished]
    reasons = [reason for interface in present for reason in reasons_of(interface, found, records.get(interface.name))]
    reasons += [*restored.reasons, *backend.remarks(interfaces, found), *(_rename.reason_of(entry) for entry in later.values())]
    changes += changes_of(file_change(LEDGER.path, text_of(found.saved), text_of(settled(found.saved, restored.saved))))
    touched = _touched(found, changes, live, backend=backend) | {naming.name for naming in renames} | _takeover.unfinished(found)
    # Where our files exist already, only those of others change.
    touched |= {interface.name for interface in live if interface.name in taken.losses}
    disturbed = touched - _takeover.quiet(taken, changing)
    cuts = (*_cutting(found, live, removed=removed, backend=backend, touched=disturbed), *_cutting_parents(found, live, dissents))
    if cuts and not wanted.rollback:
        raise Refused(
            "the connection of this run goes through an interface that would be disturbed: %s; run over another path, or set ipoib_rollback_timeout"
            % "; ".join(cuts)
        )
    made = Plan(tuple(changes))
    return IpoibPlan(
        made,
        interfaces,
        removed,
        tuple(reasons),
        renames,
        tuple(later.values()),
        deferred,
        cuts,
        touched,
        dissents,
        taken.owners,
        taken.continued,
        restored.saved,
    )


def _refuse_losing(taken: Takeover, interfaces: Interfaces) -> None:
    """Refuse to take over an interface with addresses that others have assigned to it: our files ask for none."""
    lost = [
        "%s of %s" % (address, interface.name)
        for interface in interfaces
        for address in canonical(taken.lent.get(interface.name, ()))
        if address not in canonical(interface.addresses)
    ]
    if lost:
        raise Refused(_LENT % ", ".join(lost), losses=lost)


def _kept(found: Found, interfaces: Interfaces, later: t.Mapping[str, Pending], *, records: t.Mapping[str, Record]) -> tuple[Interface, ...]:
    """Interfaces of earlier runs that stay as they are until the node restarts: those that get another name then, and their children."""
    declared = {interface.name: interface for interface in interfaces}
    old = {pending.change.before: declared[name] for name, pending in later.items() if name in declared}
    staying = {name: (entry.mode, "", 0) for name, entry in old.items()}
    for netdev in found.netdevs.values():
        if netdev.parent in old and netdev.kind == "ipoib_child":
            staying[netdev.name] = (netdev.mode, netdev.parent, hexadecimal(netdev.pkey, 0))
    return tuple(
        Interface(
            name,
            found.netdevs[name].mode or mode,
            mtu=records[name].mtu,
            addresses=records[name].addresses,
            parent=parent,
            pkey=pkey,
            routes=found.routes.get(name, ()),
            master=found.netdevs[name].master,
        )
        for name, (mode, parent, pkey) in sorted(staying.items())
        if name in records and name not in declared
    )


def wanted_files(found: Found, interfaces: Interfaces, backend: Backend, *, namings: t.Sequence[Naming] = ()) -> dict[str, str]:
    """Every file that is to exist, by path, and the shared files with their wanted content."""
    files = _registry.zones_kept(backend.render(interfaces, found), [interface.name for interface in interfaces], found.files)
    written = tuple(files)
    for each in _registry.BACKENDS:
        files.update(each.edit(found.files, written))
    if backend.needs_boot_unit(found):
        files.update(_boot.render(interfaces))
    files.update(_rename.render(namings, coming(found.facts), present=found.files.get(_rename.RULE_PATH, "")))
    return files


def _taken(wanted: Wanted, found: Found, backend: Backend) -> Takeover:
    """What is taken over from the files of others."""
    if not wanted.adopt or not wanted.interfaces:
        return Takeover()
    names = [interface.name for interface in wanted.interfaces]
    if found.foreign is not None:
        return found.taken.of(names)
    return _takeover.takeover(names, found, backend, guids={naming.name: naming.guid for naming in wanted.namings})


def _file_changes(found: t.Mapping[str, str], wanted: t.Mapping[str, str], *, last: t.Collection[str]) -> tuple[Change, ...]:
    """Files to write, then files of earlier runs, of any back-end, to remove. `last`: files of others, which change once ours exist."""
    stale = [path for path, text in sorted(found.items()) if path not in wanted and _registry.is_ours(path, text)]
    return changes_of(
        *(file_change(path, found.get(path, ""), wanted[path]) for path in sorted(wanted, key=lambda path: (path in last, path))),
        *(file_change(path, found[path], "") for path in stale),
    )


def _refuse_giving_up(wanted: Wanted, removed: t.Sequence[Record]) -> None:
    """Refuse a declaration without interfaces: it is more often a mistake, such as a variables file that no longer applies, than intended."""
    if wanted.interfaces or wanted.dismissed is None:
        return
    going = sorted(record.name for record in removed if record.name not in wanted.dismissed)
    if going:
        raise Refused(
            "ipoib_interfaces declares no interface, and the node would lose all interfaces from earlier runs: %s; declare them in ipoib_interfaces, or "
            "consent with rdma_allow_removal: true" % ", ".join(going),
            removed=going,
        )


def _refuse(found: Found, wanted: Wanted, backend: Backend, *, records: t.Collection[str], paths: t.Iterable[str]) -> None:
    interfaces = wanted.interfaces
    faults = (*_no_leases(interfaces, backend), *backend.faults(interfaces, found))
    if faults:
        raise Refused("%s does not support it: %s; or name another back-end in ipoib_backend" % (backend.name, "; ".join(faults)), problems=list(faults))
    bonds = [interface.name for interface in interfaces if interface.bond is not None and interface.name not in found.netdevs]
    if bonds and found.no_bonding:
        raise Refused("%s can't be made: %s" % (", ".join(bonds), found.no_bonding), bonds=bonds)
    conflicts = _foreign(found, interfaces, backend, paths=paths, namings=wanted.namings)
    if conflicts:
        remedy = "remove the interface from the file, remove the file, or do not declare the interface"
        if not wanted.adopt:
            remedy = "take the interface over with ipoib_adopt: true, " + remedy
        elif backend.handicap(found):
            remedy = "%s; or %s" % (backend.handicap(found), remedy)
        else:
            remedy = "%s; %s" % (_STUCK, remedy)
        raise Refused("%s; %s" % ("; ".join(conflicts), remedy), conflicts=conflicts)
    aloof = _aloof(found, interfaces, backend, namings=wanted.namings)
    if aloof:
        raise Refused(
            "%s; remove the interface from it, name another back-end in ipoib_backend, or do not declare the interface" % "; ".join(aloof), conflicts=aloof
        )
    conflicts = _masters(found, interfaces, records)
    if conflicts:
        raise Refused("%s; remove the interface from it, or do not declare the interface" % "; ".join(conflicts), conflicts=conflicts)


def _no_leases(interfaces: Interfaces, backend: Backend) -> list[str]:
    """Interfaces with DHCP, where our files of the back-end can't ask for it."""
    why = "dhcp needs a client identifier, because a request over IPoIB has no hardware address, and the files of the collection for it have none"
    named = [interface.name for interface in interfaces if interface.dhcp and not backend.leases]
    return ["%s: %s" % (", ".join(named), why)] if named else []


def _foreign(found: Found, interfaces: Interfaces, backend: Backend, *, paths: t.Iterable[str], namings: t.Sequence[Naming] = ()) -> list[str]:
    """Foreign files that configure a wanted interface, or that exist at the path of a file of ours."""
    guids = {naming.name: naming.guid for naming in namings}
    conflicting = []
    # The back-ends whose foreign files matter in addition to those of `backend`.
    rivals = {each for each in _registry.BACKENDS if each.presence(found).in_use and each.name not in backend.renders_through}
    for rival in sorted({backend, *rivals}, key=lambda each: each.name):
        conflicting += [
            "%s configures %s" % (path, interface.name) for interface in interfaces for path in _registry.conflicts(rival, interface.name, found, guids=guids)
        ]
    for path in sorted(paths):
        text = found.files.get(path, "")
        if text and path not in _registry.SHARED and not _registry.is_ours(path, text):
            conflicting.append("%s exists and does not belong to this collection" % path)
    return list(dict.fromkeys(conflicting))


def _aloof(found: Found, interfaces: Interfaces, backend: Backend, *, namings: t.Sequence[Naming] = ()) -> list[str]:
    """Wanted interfaces that the back-end is told to leave alone: it would read our files and do nothing."""
    guids = {naming.name: naming.guid for naming in namings}
    return [
        "%s is configured to ignore %s (%s)" % (backend.name, interface.name, place)
        for interface in interfaces
        for place in _registry.aloof(backend, interface.name, found, guids=guids)
    ]


def _masters(found: Found, interfaces: Interfaces, records: t.Collection[str]) -> list[str]:
    """Wanted interfaces in a bond, bridge or team that is not managed by this collection."""
    names = [interface.name for interface in interfaces]
    owners = {name: found.netdevs[name].master for name in names if name in found.netdevs}
    return ["%s is a port of %s, which is not declared" % (name, owner) for name, owner in owners.items() if owner not in ("", *names, *records)]


def _touched(found: Found, changes: t.Sequence[Change], interfaces: Interfaces, *, backend: Backend) -> frozenset[str]:
    """The interfaces that change in any way, even if only in their files."""
    names = {change.subject for change in changes if change.kind == Kind.INTERFACE}
    written = {change.subject for change in changes if change.kind == Kind.FILE and change.after}
    return frozenset(names | {interface.name for interface in interfaces if written.intersection(backend.render([interface], found))})


def _cutting(found: Found, interfaces: Interfaces, *, removed: t.Sequence[Record], backend: Backend, touched: t.Collection[str]) -> tuple[str, ...]:
    """Changes that would cut the management connection. `touched`: the interfaces that change, except those of which only the files do."""
    cuts = ["%s would be taken down" % record.name for record in removed if record.name in found.ssh_path]
    strange = {name for each in _registry.BACKENDS if each.strips and each is not backend for name in each.format.records(found.files)}
    held = backend.held(found)
    for interface in interfaces:
        netdev = found.netdevs.get(interface.name)
        if netdev is None or interface.name not in found.ssh_path:
            continue
        if interface.name in strange:
            cuts.append("%s would be handed over to %s" % (interface.name, backend.name))
        if netdev.mode and netdev.mode != interface.mode:
            cuts.append("%s would change its mode from %s to %s" % (interface.name, netdev.mode, interface.mode))
        gone = [address for address in fixed(interface, netdev.addresses) if address not in canonical(interface.addresses)]
        if gone:
            cuts.append("%s would lose %s" % (interface.name, ", ".join(gone)))
        lost = unequal_routes(found.routes.get(interface.name, ()), interface.routes)[1]
        if lost:
            cuts.append("%s would lose the route to %s" % (interface.name, ", ".join(sorted(route.to for route in lost))))
        if netdev.master != interface.master:
            cuts.append("%s would go from %s to %s" % (interface.name, netdev.master or "no bond", interface.master or "no bond"))
        leaving = sorted(set(netdev.members) - set(interface.bond.ports)) if interface.bond is not None else []
        if leaving:
            cuts.append("%s would lose its port %s" % (interface.name, ", ".join(leaving)))
        if interface.name in touched and not interface.master and held is not None and interface.name not in held:
            cuts.append("%s would be brought up again by %s" % (interface.name, backend.name))
    return tuple(cuts)


def _cutting_parents(found: Found, interfaces: Interfaces, dissents: t.Sequence[Dissent]) -> list[str]:
    """Parents that would be set up: a back-end creates a child through its parent, and first configures a parent that it has not set up."""
    strange = {dissent.name: dissent.backend for dissent in dissents if dissent.carries_run}
    return [
        "%s would be set up by %s for its P_Key child %s" % (interface.parent, strange[interface.parent], interface.name)
        for interface in interfaces
        if interface.is_child and interface.name not in found.netdevs and interface.parent in strange
    ]


def _rank(found: Found, name: str) -> int:
    """Sort key: bonds before their ports, children before their parents."""
    netdev = found.netdevs.get(name)
    if netdev is None:
        return 1 if "." in name else 2
    return 0 if netdev.kind == "bond" else (1 if netdev.parent else 2)
