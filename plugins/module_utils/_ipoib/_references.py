# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Resolve interfaces declared by port GUID or PCI address to their names on this node. Pure."""

from __future__ import annotations

import re
import typing as t

from .._errors import Problem
from .._facts._portname import parse_function
from ._identity import coming, infiniband_ports
from ._wanted import Naming, is_guid

_OF_KERNEL = re.compile(r"ib[0-9]+\Z")
PORTS_FORM = "the GUID of an InfiniBand port of this node: %s"
PCI_FORM = "the PCI address of an InfiniBand adapter of this node: %s"


class Resolution(t.NamedTuple):
    """The declared interfaces with their names, and the problems."""

    interfaces: tuple[t.Any, ...]
    """The declared entries, with names in place of all GUIDs and PCI addresses."""
    namings: tuple[Naming, ...] = ()
    problems: tuple[Problem, ...] = ()


class _Finder:
    """Finds the ports of a node and the names of their interfaces."""

    def __init__(self, facts: t.Mapping[str, t.Any]) -> None:
        self.ports = infiniband_ports(facts)
        self.functions = {str(hca.get("pci")): hca.get("name") for hca in facts.get("hcas") or () if hca.get("pci")}
        self._current = {netdev.get("port_guid"): str(netdev.get("name")) for netdev in facts.get("netdevs") or () if netdev.get("kind") == "ipoib"}
        self._coming = {guid: name for name, guid in coming(facts).items()}

    def current(self, guid: str) -> str:
        return self._current.get(guid, "")

    def expected(self, guid: str) -> str:
        """The name that the interface of a port has, or will get."""
        return self.current(guid) or self._coming.get(guid, "")

    def listed(self) -> str:
        return ", ".join("%s (%s)" % (port.get("port_guid"), port.get("name")) for port in self.ports) or "it has none"

    def guid_of(self, path: str, item: t.Mapping[str, t.Any]) -> tuple[str, Problem | None]:
        """The GUID of the port that an entry refers to; "" where it names no port."""
        if item.get("state") == "absent":
            return "", None
        if item.get("port_guid") is not None:
            guid = str(item["port_guid"]).lower()
            known = self.expected(guid)
            return guid, None if known else Problem(path + ".port_guid", item["port_guid"], PORTS_FORM % self.listed())
        if item.get("pci") is None:
            return "", None
        place = parse_function(item["pci"])
        device = self.functions.get(place.pci) if place is not None else None
        ports = [port for port in self.ports if port.get("device") == device and (not place.number or port.get("port") == place.number)] if place else []
        if device is None or not ports:
            functions = sorted(pci for pci, name in self.functions.items() if any(port.get("device") == name for port in self.ports))
            return "", Problem(path + ".pci", item["pci"], PCI_FORM % (", ".join(functions) or "it has none"))
        if len(ports) > 1:
            places = " or ".join("%s/%s" % (item["pci"], port.get("port")) for port in ports)
            return "", Problem(path + ".pci", item["pci"], places, "the adapter has %d ports" % len(ports))
        return str(ports[0].get("port_guid")), None


def resolve(interfaces: t.Sequence[tuple[str, t.Mapping[str, t.Any]]], facts: t.Mapping[str, t.Any]) -> Resolution:
    """Replace references by names. `interfaces`: pairs of path and entry; the entries are valid on their own."""
    finder = _Finder(facts)
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    namings, problems, items = [], [], []
    for path, item in interfaces:
        guid, problem = finder.guid_of(path, item)
        if problem is None and guid and owners.setdefault(guid, path) != path:
            problem = Problem(path, item.get("name") or guid, "each port once", "%s means the port %s too" % (owners[guid], guid))
        if problem is not None:
            problems.append(problem)
        elif guid:
            names[guid] = item.get("name") or finder.expected(guid)
            if item.get("name"):
                namings.append(Naming(item["name"], guid, finder.current(guid), str(item.get("pci") or "")))
            item = {**item, "name": names[guid]}
        items.append((path, item))
    found = [_referring(path, item, names=names, finder=finder) for path, item in items]
    problems += [fault for _item, faults in found for fault in faults]
    return Resolution(tuple(item for item, _faults in found), tuple(namings), tuple(problems))


def resolve_unseen(interfaces: t.Sequence[tuple[str, t.Mapping[str, t.Any]]]) -> Resolution:
    """The same for an image, in which there are no ports: an interface that is declared by its port needs a name, which it gets when it appears."""
    finder = _Finder({})
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    namings, problems = [], []
    for path, item in interfaces:
        key = next((key for key in ("port_guid", "pci") if item.get(key) is not None and item.get("state") != "absent"), "")
        if key and not item.get("name"):
            problems.append(Problem(path + ".name", None, "a name for the interface of %s" % item[key], "an image has no ports, so its name is not known"))
        elif key and _OF_KERNEL.match(item["name"]):
            # udev could not give it where the kernel has given it to another port.
            hint = "the kernel gives such names itself: where the node has one port, leave out %s" % key
            problems.append(Problem(path + ".name", item["name"], "a name other than ib0, ib1 and so on", hint))
        elif key:
            guid, place = (str(item[key]).lower(), "") if key == "port_guid" else ("", str(item[key]))
            function = parse_function(place)
            # One port of a function and a function without a number may be the same.
            own = guid if function is None else "%s/%s" % (function.pci, function.number or 1)
            if owners.setdefault(own, path) != path:
                problems.append(Problem(path, item["name"], "each port once", "%s means the port %s too" % (owners[own], own)))
            names.update({guid: item["name"]} if guid else {})
            namings.append(Naming(item["name"], guid, place=place))
    found = [_referring(path, item, names=names, finder=finder) for path, item in interfaces]
    problems += [fault for _item, faults in found for fault in faults]
    return Resolution(tuple(item for item, _faults in found), tuple(namings), tuple(problems))


def _referring(path: str, item: t.Mapping[str, t.Any], *, names: t.Mapping[str, str], finder: _Finder) -> tuple[dict[str, t.Any], list[Problem]]:
    """The entry with names in place of the GUIDs of its parent and its ports."""
    problems = []

    def named(where: str, value: t.Any) -> t.Any:
        if not is_guid(value):
            return value
        name = names.get(value.lower()) or finder.expected(value.lower())
        if not name:
            problems.append(Problem(where, value, PORTS_FORM % finder.listed()))
        return name or value

    found = dict(item)
    if item.get("parent") is not None:
        found["parent"] = named(path + ".parent", item["parent"])
    if item.get("bond") is not None:
        bond = dict(item["bond"])
        bond["ports"] = [named("%s.bond.ports[%d]" % (path, position), port) for position, port in enumerate(bond["ports"])]
        if is_guid(bond.get("primary")):
            # The primary is one of the ports: a problem is reported there.
            bond["primary"] = names.get(bond["primary"].lower()) or finder.expected(bond["primary"].lower())
        found["bond"] = bond
    return found, problems
