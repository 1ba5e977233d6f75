# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate declared interfaces together: duplicates, parents and children, bonds and ports. Pure."""

from __future__ import annotations

import re
import typing as t

from .._errors import Problem
from . import _wanted
from ._wanted import Interface, Naming

_CHILD = re.compile(r"\.[0-9a-f]{4}$")


class Entry(t.NamedTuple):
    """A declared interface: its path, its raw entry, and its parsed form."""

    path: str
    item: t.Mapping[str, t.Any]
    wanted: Interface
    naming: Naming | None = None
    """Set if the interface is to get its name."""
    implied: bool = False
    """Whether it is a port of a bond without an entry of its own; `path` is then where the bond names it."""

    @property
    def name_path(self) -> str:
        return self.path if self.implied else self.path + ".name"


def duplicates(entries: t.Sequence[Entry]) -> list[Problem]:
    """Problems of interfaces, partitions of a parent, addresses and destinations that are declared twice."""
    found = []
    seen: dict[tuple[str, ...], tuple[str, Entry]] = {}
    for entry in entries:
        for key, path, value, allowed in _unique(entry):
            first, other = seen.setdefault(key, (path, entry))
            if first == path:
                continue
            if key[0] == "name" and entry.wanted.is_child and other.wanted.is_child and entry.wanted.parent != other.wanted.parent:
                found.append(_alike(entry, other))
            else:
                found.append(Problem(path, value, allowed, "%s says the same" % first))
    return found


def _alike(entry: Entry, other: Entry) -> Problem:
    """The problem of children of two parents to which the kernel would give the same name."""
    kept, name = _wanted.PARENT_KEPT, entry.wanted.name
    hint = "the kernel keeps %d characters of a parent's name, so both this child and that of %s (%s) would be %s; give the parents shorter names: %s" % (
        kept,
        other.wanted.parent,
        other.path,
        name,
        "name beside port_guid or pci in their entries",
    )
    return Problem(entry.path + ".parent", entry.wanted.parent, "a parent that differs from the others in its first %d characters" % kept, hint)


def _unique(entry: Entry) -> t.Iterator[tuple[tuple[str, ...], str, t.Any, str]]:
    """What may be declared only once: the key that identifies it, its path, its written form, and the allowed values."""
    path, wanted = entry.path, entry.wanted
    yield ("name", wanted.name), path + ".name", wanted.name, "each interface once"
    if wanted.is_child:
        yield ("partition", wanted.parent, str(wanted.pkey & 0x7FFF)), path + ".pkey", entry.item.get("pkey"), "each partition once on a parent"
    if wanted.present:
        for position, address in enumerate(wanted.addresses):
            yield ("address", address.split("/")[0]), "%s.addresses[%d]" % (path, position), address, "each address once on a node"
        for position, route in enumerate(wanted.routes):
            where, allowed = "%s.routes[%d]" % (path, position), "each destination once on a node, or with another metric"
            yield ("route", route.to, str(route.metric)), where, route.to, allowed


def family_problems(entries: t.Sequence[Entry], names: t.Sequence[t.Any]) -> list[Problem]:
    """Problems of children whose parent is not declared, is a child itself, or is absent. `names`: all declared names, valid or not."""
    declared = {entry.wanted.name: entry.wanted for entry in entries}
    implied = {port for wanted in declared.values() if wanted.bond is not None and wanted.present for port in wanted.bond.ports}
    found = []
    for entry in entries:
        wanted, path = entry.wanted, entry.path + ".parent"
        if not wanted.is_child or not wanted.present:
            continue
        parent = declared.get(wanted.parent)
        if parent is None:
            if wanted.parent in names or wanted.parent in implied or _wanted.is_guid(wanted.parent):
                continue
            others = sorted(name for name, other in declared.items() if not other.is_child and other.bond is None)
            allowed = "an interface that is declared, too: " + (", ".join(others) or "none is")
            found.append(Problem(path, wanted.parent, allowed, "declare %s, without addresses if it is to have none" % wanted.parent))
        elif parent.bond is not None:
            hint = "the kernel creates P_Key children only on ports: declare them there, and bond the children"
            found.append(Problem(path, wanted.parent, "an interface that is not a bond", hint))
        elif parent.is_child:
            found.append(Problem(path, wanted.parent, "an interface that is not a child itself", "the kernel refuses children of children"))
        elif not parent.present:
            found.append(Problem(path, wanted.parent, "an interface whose state is present", "a child is removed with its parent"))
    return found


def bond_problems(entries: t.Sequence[Entry]) -> list[Problem]:
    """Problems of ports that can't be bond ports, and of inconsistent bonds."""
    declared = {entry.wanted.name: entry for entry in entries}
    bonds = [entry for entry in entries if entry.wanted.bond is not None and entry.wanted.present]
    owners: dict[str, str] = {}
    found = []
    for entry in bonds:
        ports = entry.wanted.bond.ports if entry.wanted.bond is not None else ()
        for position, port in enumerate(ports):
            path = "%s.bond.ports[%d]" % (entry.path, position)
            fault = _port_fault(port, declared.get(port))
            if fault is None and owners.setdefault(port, entry.wanted.name) != entry.wanted.name:
                fault = ("each port in one bond", "%s has it already" % owners[port])
            if fault is not None:
                found.append(Problem(path, port, *fault))
        members = [declared[port] for port in ports if port in declared]
        found += _disagreements([entry, *members])
        partitions = {declared[port].wanted.pkey & 0x7FFF if port in declared else 0 for port in ports}
        if len(partitions) > 1:
            found.append(Problem(entry.path + ".bond.ports", list(ports), "ports on one partition", "the others are not reached over a port on another one"))
    return found


def _port_fault(port: str, entry: Entry | None) -> tuple[str, str] | None:
    if entry is None:
        if _CHILD.search(port):
            return "an interface, or a P_Key child that is declared", "declare it by an entry with its parent and pkey"
        return None
    if entry.wanted.bond is not None:
        return "an IPoIB interface or a P_Key child", "the kernel does not bond bonds"
    if not entry.wanted.present:
        return "an interface whose state is present", "%s declares it absent" % entry.path
    if entry.wanted.addresses or entry.wanted.routes or entry.wanted.dhcp:
        return "an interface without addresses, routes and dhcp", "those of %s belong to the bond" % entry.path
    return None


def _disagreements(entries: t.Sequence[Entry]) -> list[Problem]:
    """Problems of a port's mode or MTU that differs from the declared one of its bond."""
    found = []
    for key, open_value in (("mode", "auto"), ("mtu", 0)):
        said = [entry for entry in entries if getattr(entry.wanted, key) != open_value]
        for entry in said[1:]:
            value, first = getattr(entry.wanted, key), getattr(said[0].wanted, key)
            if value != first:
                hint = "%s.%s declares it, and a bond and its ports have the same one" % (said[0].path, key)
                found.append(Problem("%s.%s" % (entry.path, key), value, str(first), hint))
    return found


def together(entries: t.Sequence[Entry]) -> list[Entry]:
    """The entries completed from their bonds, plus the ports that have no entry of their own."""
    by_name = {entry.wanted.name: entry for entry in entries}
    paths = {}
    for entry in entries:
        if entry.wanted.bond is not None:
            paths.update({port: "%s.bond.ports[%d]" % (entry.path, position) for position, port in enumerate(entry.wanted.bond.ports)})
    found = {wanted.name: wanted for wanted in _wanted.together([entry.wanted for entry in entries])}
    implied = [Entry(paths[name], {}, wanted, implied=True) for name, wanted in found.items() if name not in by_name]
    return [*(entry._replace(wanted=found[entry.wanted.name]) for entry in entries), *implied]
