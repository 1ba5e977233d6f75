# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rails: declared names for the adapters of a host, from which RDMA device and IPoIB interface get theirs. Pure.

`rdma_rails` is a mapping such as `{rdma0: {pci: "0000:18:00.0", interface: ib0}}`, or `pci_order`, which stands for such a mapping. The key is the name of
the RDMA device. Limits of names: IB_DEVICE_NAME_MAX and IFNAMSIZ of Linux, each with a terminating zero.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import Problem, label, unknown_keys
from .._foreign import hexadecimal, part, rows_of
from ._apart import is_in_fabric
from ._portname import QUOTE, Port, find, form_problems, is_rail, parse, parse_function
from ._railrule import Rail

VARIABLE = "rdma_rails"
PCI_ORDER = "pci_order"
DEVICE, INTERFACE = "rdma", "ib"
KEYS = ("interface", "pci", "port_guid")

FORM = 'pci_order, or a mapping of names to adapters, such as {rdma0: {pci: "0000:18:00.0", interface: ib0}}'
NAME_FORM = (
    "the name of an RDMA device: 1 to 63 letters, digits, '_', '.' and '-', a letter first, and none that a driver or udev gives itself, "
    "such as mlx5_0 or ibp24s0"
)
ENTRY_FORM = 'a mapping with pci or port_guid, such as {pci: "0000:18:00.0"}'
PCI_FORM = 'a PCI address in quotes, such as "0000:18:00.0", or "0000:18:00.0/2" for the second port of an adapter'
GUID_FORM = 'a port GUID in quotes, such as "0x7cfe90030016aef1"'
INTERFACE_FORM = "the name of a network interface: 1 to 15 letters, digits, '.', '_' and '-'"

# PSM2 finds the adapters of Omni-Path by the names that their driver gives.
_OMNI_PATH = "hfi1"
_DRIVERS = ("mlx4_core", "mlx5_core")

_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,14}\Z")
ORDERED = re.compile(re.escape(DEVICE) + r"(0|[1-9][0-9]{0,2})\Z")

Rails = t.Mapping[str, t.Mapping[str, t.Any]]
"""By name of the RDMA device: `pci` or `port_guid`, and perhaps `interface`."""


def problems(value: t.Any, variable: str = VARIABLE) -> list[Problem]:
    """What is wrong with a declaration on its own."""
    if value == PCI_ORDER or value in (None, {}):
        return []
    if not isinstance(value, t.Mapping):
        return [Problem(variable, value, FORM)]
    found: list[Problem] = []
    seen: dict[t.Any, str] = {}
    for name, entry in value.items():
        where = "%s.%s" % (variable, label(name))
        if not is_rail(name):
            found.append(Problem(where, name, NAME_FORM))
        elif not isinstance(entry, t.Mapping):
            found.append(Problem(where, entry, ENTRY_FORM))
        else:
            found += _entry_problems(where, entry) or _repeated(where, entry, seen)
    return found


def _entry_problems(where: str, entry: t.Mapping[str, t.Any]) -> list[Problem]:
    found = list(unknown_keys(where, entry, KEYS))
    pci, guid, interface = (entry.get(key) for key in ("pci", "port_guid", "interface"))
    if (pci is None) == (guid is None):
        found.append(Problem(where, dict(entry), ENTRY_FORM, "one of the two selects the adapter"))
    if pci is not None and parse_function(pci) is None:
        found.append(Problem(where + ".pci", pci, PCI_FORM, _unquoted(pci)))
    if guid is not None and not guid_of(guid):
        found.append(Problem(where + ".port_guid", guid, GUID_FORM, _unquoted(guid)))
    if interface is not None and not (isinstance(interface, str) and _INTERFACE.match(interface)):
        found.append(Problem(where + ".interface", interface, INTERFACE_FORM))
    return found


def _unquoted(value: t.Any) -> str:
    return QUOTE if isinstance(value, (int, float)) and not isinstance(value, bool) else ""


def guid_of(value: t.Any) -> str:
    """The port GUID in the form of the facts; "" for anything else."""
    name = parse(value)
    return name.guid if name is not None else ""


def _repeated(where: str, entry: t.Mapping[str, t.Any], seen: dict[t.Any, str]) -> list[Problem]:
    """Problems of what an earlier rail has. `seen`: the places of these, which is extended."""
    function = parse_function(entry.get("pci"))
    own = {"pci": function and function.pci, "port_guid": guid_of(entry.get("port_guid")), "interface": entry.get("interface")}
    found = []
    for key, value in own.items():
        if value and seen.setdefault((key, value), where) != where:
            what = "a name that no other rail has" if key == "interface" else "an adapter that no other rail has"
            found.append(Problem("%s.%s" % (where, key), entry[key], what, "%s has it, too" % seen[key, value]))
    return found


def explicit(value: t.Any, facts: t.Mapping[str, t.Any] | None) -> Rails | None:
    """The rails as a mapping; None for a malformed declaration, and for `pci_order` where the facts do not tell the adapters."""
    if problems(value):
        return None
    if value != PCI_ORDER:
        return dict(value or {})
    if facts is None or not {"ports", "hcas"} <= set(facts):
        return None
    found, before = functions(facts), part(facts, "rails")
    kept = ordered(str(pci) for pci in before.values())
    # The rule of an earlier run tells what a missing adapter was. Without that, the others would get its names.
    stays = found < set(before.values()) and {name: entry["pci"] for name, entry in kept.items()} == before
    return kept if stays else ordered(found)


def ordered(addresses: t.Iterable[str]) -> Rails:
    """The rails of adapters in the order of their PCI addresses."""
    places = sorted(set(addresses), key=lambda address: [hexadecimal(part, 0) for part in re.split("[:.]", address)])
    return {"%s%d" % (DEVICE, number): {"pci": pci, "interface": "%s%d" % (INTERFACE, number)} for number, pci in enumerate(places)}


def functions(facts: t.Mapping[str, t.Any]) -> set[str]:
    """The PCI addresses of the physical functions with an InfiniBand port of a fabric.

    Without its driver, a function has no port. The class of the PCI function then tells that it is InfiniBand.
    """
    virtual = {hca.get("pci") for hca in rows_of(facts, "hcas") if hca.get("virtual")}
    ports = (port for port in rows_of(facts, "ports") if is_in_fabric(port) and not str(port.get("device")).startswith(_OMNI_PATH))
    found = {str(port["pci"]) for port in ports if port.get("pci") and port["pci"] not in virtual}
    # What has another driver, such as vfio-pci, is not waiting for its own.
    rows = (row for row in rows_of(facts, "adapters") if row.get("infiniband") and not row.get("virtual"))
    waiting = (row for row in rows if not row.get("rdma") and row.get("driver", "") in ("", *_DRIVERS))
    return found.union(str(row["pci"]) for row in waiting)


def named_devices(rails: Rails) -> tuple[Rail, ...]:
    """The rails as the rule of udev has them; none for a declaration that is no mapping yet, as where the adapters are not known."""
    return tuple(_device(name, rails[name]) for name in sorted(rails)) if isinstance(rails, t.Mapping) else ()


def _device(name: str, entry: t.Mapping[str, t.Any]) -> Rail:
    place = parse_function(entry.get("pci"))
    return Rail(name, guid=guid_of(entry.get("port_guid"))) if place is None else Rail(name, place.pci)


def _home(entry: t.Mapping[str, t.Any], ports: t.Sequence[Port]) -> Port | None:
    """The port of a rail: the one with its GUID or number, else the first one of the function."""
    if entry.get("port_guid") is not None:
        return find(entry["port_guid"], ports)
    function = parse_function(entry["pci"])
    return None if function is None else find("%s/%d" % (function.pci, function.number or 1), ports)


def shared(value: t.Any, facts: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of rails that are one adapter of the node, which a PCI address and a GUID may be."""
    rails, ports = explicit(value, facts) or {}, rows_of(facts, "ports")
    owners: dict[t.Any, str] = {}
    found = []
    for name, entry in rails.items():
        port = _home(entry, ports)
        if port is not None and owners.setdefault(port.get("device"), name) != name:
            hint = "%s is this adapter, too: %s" % (owners[port.get("device")], port.get("name"))
            found.append(Problem("%s.%s" % (VARIABLE, name), dict(entry), "an adapter that no other rail has", hint))
    return found


def with_rails(facts: t.Mapping[str, t.Any], value: t.Any) -> dict[str, t.Any]:
    """The facts with the names of rails as `rails` in each of their ports: `rdma0/1`, and `rdma0` for the one that the rail stands for."""
    rails, ports = explicit(value, facts) or {}, rows_of(facts, "ports")
    names: dict[t.Any, list[str]] = {}
    for name, entry in rails.items():
        home = _home(entry, ports)
        own = [port for port in ports if home is not None and port.get("device") == home.get("device")]
        function = parse_function(entry.get("pci"))
        sole = len(own) == 1 or function is None or bool(function.number)
        for port in own:
            more = ["%s/%s" % (name, port.get("port"))]
            names.setdefault(port.get("name"), []).extend([name, *more] if port is home and sole else more)
    known = {**facts}
    if names:
        known["ports"] = [{**port, "rails": names[port.get("name")]} if port.get("name") in names else port for port in ports]
    return known


def names_in_words(value: t.Any) -> str:
    """The names of the declared rails, for a message; "" where there are none."""
    if value == PCI_ORDER:
        return "%s0, %s1 ... in the order of PCI addresses" % (DEVICE, DEVICE)
    return ", ".join(map(str, value)) if isinstance(value, t.Mapping) else ""


def is_declared(name: str, value: t.Any) -> bool:
    """Whether there can be a rail of that name."""
    return ORDERED.match(name) is not None if value == PCI_ORDER else isinstance(value, t.Mapping) and name in value


def port_problems(where: str, text: t.Any, value: t.Any) -> list[Problem]:
    """The problem of a text that is neither a port name nor the name of a rail. `value`: the declared rails."""
    name = parse(text)
    if name is None or not name.is_rail or is_declared(name.device, value):
        return [] if name is not None and name.is_rail else form_problems(where, text)
    words = names_in_words(value)
    return [Problem(where, text, "a rail (%s), or %s" % (words, _PORT_FORM), "rdma_rails does not name it")] if words else form_problems(where, text)


_PORT_FORM = 'a port such as "0000:18:00.0/1"'
