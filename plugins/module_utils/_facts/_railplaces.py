# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options and variables with the ports and interfaces of rails in place of their names, which a node may not know yet. Pure."""

from __future__ import annotations

import typing as t

from .._errors import Problem
from ._portname import Port, parse, parse_function
from ._rails import INTERFACE, ORDERED, PCI_ORDER, Rails, explicit, guid_of, is_declared, names_in_words

INTERFACES = ("interfaces", "ipoib_interfaces")
"""Where entries can have the key `rail`."""
_PORT, _PORTS, _FABRICS, _RAILS = ("port", "opensm_port"), ("ports",), ("fabrics", "rdma_fabrics", "instances"), "rails"


def port_name(text: t.Any, rails: Rails, ports: t.Sequence[Port]) -> t.Any:
    """A port name that does not change, in place of one by a rail. Anything else stays. `ports`: those of the facts, `with_rails`."""
    name = parse(text)
    entry = rails.get(name.device) if name is not None and name.device else None
    if name is None or entry is None:
        return text
    port = next((port for port in ports if text in (port.get("rails") or ())), None)
    if port is not None and port.get("port_guid" if entry.get("pci") is None else "pci"):
        return str(port["port_guid"]) if entry.get("pci") is None else "%s/%s" % (port["pci"], port["port"])
    if name.is_rail and any("%s/1" % text in (port.get("rails") or ()) for port in ports):
        # It has two ports. The module refuses the name.
        return text
    function = parse_function(entry.get("pci"))
    if function is not None:
        return "%s/%d" % (function.pci, name.number or function.number or 1)
    # Only the node knows its other ports.
    return guid_of(entry["port_guid"]) if name.is_rail else text


def resolved(values: t.Mapping[str, t.Any], rails: Rails, ports: t.Sequence[Port]) -> dict[str, t.Any]:
    """Options of a module, or variables, with names of ports that do not change in place of those by rails."""
    found = dict(values)
    for key, value in values.items():
        if key in _PORT:
            found[key] = port_name(value, rails, ports)
        elif key in _PORTS and isinstance(value, (list, tuple)):
            found[key] = [port_name(each, rails, ports) for each in value]
        elif key in INTERFACES:
            found[key] = with_places(value, rails)
        elif key == _RAILS and value == PCI_ORDER:
            found[key] = {name: dict(entry) for name, entry in rails.items()}
        elif key in _FABRICS:
            found[key] = _of_fabrics(value, rails, ports)
    return found


def _of_fabrics(value: t.Any, rails: Rails, ports: t.Sequence[Port]) -> t.Any:
    """A mapping of fabrics to ports, or a list of mappings with such options."""
    if isinstance(value, t.Mapping):
        lists = {name: own for name, own in value.items() if isinstance(own, (list, tuple))}
        return {**value, **{name: [port_name(each, rails, ports) for each in own] for name, own in lists.items()}}
    if isinstance(value, (list, tuple)):
        return [resolved(each, rails, ports) if isinstance(each, t.Mapping) else each for each in value]
    return value


def with_places(interfaces: t.Any, rails: Rails) -> t.Any:
    """Entries of interfaces with the port in place of `rail`, and the name of its interface where they have none. An unknown rail stays."""
    if not isinstance(interfaces, (list, tuple)):
        return interfaces
    return [_with_place(item, rails) if isinstance(item, t.Mapping) and item.get("rail") is not None else item for item in interfaces]


def _with_place(item: t.Mapping[str, t.Any], rails: Rails) -> t.Mapping[str, t.Any]:
    name = parse(item["rail"])
    entry = rails.get(name.device) if name is not None else None
    if name is None or entry is None or item.get("pci") is not None or item.get("port_guid") is not None or (name.number and entry.get("pci") is None):
        return item
    found = {key: value for key, value in item.items() if key != "rail"}
    function = parse_function(entry.get("pci"))
    if function is None:
        found["port_guid"] = guid_of(entry["port_guid"])
    else:
        # Without a number, an adapter with two ports is refused on the node.
        number = name.number or function.number
        found["pci"] = "%s/%d" % (function.pci, number) if number else function.pci
    if (
        entry.get("interface") is not None
        and name.number in (0, function and function.number)
        and all(item.get(key) is None for key in ("name", "bond", "parent"))
    ):
        found["name"] = entry["interface"]
    return found


def likely_names(interfaces: t.Any, value: t.Any) -> t.Any:
    """Entries of interfaces as far as they are known without facts, for a look. With `pci_order`, that is their name."""
    if value != PCI_ORDER or not isinstance(interfaces, (list, tuple)):
        return with_places(interfaces, explicit(value, None) or {})
    found = []
    for item in interfaces:
        match = ORDERED.match(item["rail"]) if isinstance(item, t.Mapping) and isinstance(item.get("rail"), str) else None
        found.append({"name": INTERFACE + match[1], **item} if match is not None else item)
    return found


def rail_problems(where: str, item: t.Mapping[str, t.Any], value: t.Any) -> list[Problem]:
    """The problem of an entry whose rail was not replaced by its port. `value`: the declared rails."""
    name, given = parse(item["rail"]), item["rail"]
    for key in ("pci", "port_guid"):
        if item.get(key) is not None:
            return [Problem("%s.%s" % (where, key), item[key], "either rail or %s" % key, "both select the port")]
    words = names_in_words(value)
    if name is None or not name.device or not is_declared(name.device, value):
        if words:
            return [Problem(where + ".rail", given, "a rail of this host: %s" % words)]
        hint = "rdma_rails has to name it; with pci_order, run rdma.ofed.rdma_facts before, as the playbook rdma.ofed.site does"
        return [Problem(where + ".rail", given, "a rail of this host", hint)]
    if name.number and isinstance(value, t.Mapping) and value[name.device].get("pci") is None:
        return [Problem(where + ".rail", given, name.device, "a rail with port_guid stands for that port")]
    # Only the facts of the host tell what pci_order means.
    return []
