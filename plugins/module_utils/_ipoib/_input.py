# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the variables of the role: report all problems at once, with messages for users, before anything is changed."""

from __future__ import annotations

import typing as t

from .._errors import Problem
from .._facts import _rails as rails
from .._facts._apart import in_words, of_fabric
from .._facts._railplaces import rail_problems, with_places
from .._schema._ipoib import VARIABLES
from .._schema._values import value_problems
from . import _wanted
from ._entry import entry_problems, mtu_range, without_rail
from ._family import Entry, bond_problems, duplicates, family_problems, together
from ._found import DEFAULT
from ._identity import capability_of, coming, infiniband_ports
from ._references import resolve

LIST = "ipoib_interfaces"
# A change may take a while, and must be complete before the timer fires.
ROLLBACK_MIN = 30
ROLLBACK_MAX = 3600
# Kinds of interfaces (see rdma_facts) that this module configures.
IPOIB_KINDS = ("ipoib", "ipoib_child")


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Problems of the `ipoib_*` variables on their own and, if `facts` are given, against the node's `rdma` facts."""
    found = _scalars(variables)
    interfaces = variables.get(LIST, [])
    if not isinstance(interfaces, (list, tuple)):
        found.append(Problem(LIST, interfaces, "a list of interfaces", "each is a mapping with at least a name"))
        return found
    declared = variables.get(rails.VARIABLE)
    known = rails.explicit(declared, facts)
    interfaces = with_places(interfaces, known or {})
    # Only entries that are valid on their own are compared with each other and with the node.
    sound: list[tuple[str, t.Mapping[str, t.Any]]] = []
    for index, item in enumerate(interfaces):
        path = "%s[%d]" % (LIST, index)
        if isinstance(item, t.Mapping) and item.get("rail") is not None:
            # The adapters may be unknown, as on a host that does not answer.
            wrong = rail_problems(path, item, declared if known is None else known)
            found += wrong or entry_problems(path, without_rail(item), facts)
            continue
        own = entry_problems(path, item, facts)
        found += own
        if not own:
            sound.append((path, item))
    node = None if variables.get("ipoib_state") == "absent" else facts
    entries, faults = _entries(sound, node)
    found += [*faults, *duplicates(entries), *family_problems(entries, [item.get("name") for item in interfaces if isinstance(item, t.Mapping)])]
    of_bonds = bond_problems(entries)
    found += of_bonds
    family = entries if of_bonds else together(entries)
    found += [] if of_bonds else _mtu_problems(family)
    if node is not None:
        found += _node_problems(family, node)
    return found


def _mtu_problems(entries: t.Sequence[Entry]) -> list[Problem]:
    """Problems of connected-mode MTUs where neither the entry nor its bond declares connected mode."""
    hint = "datagram is the default; mode: connected allows more on ports that support it"
    return [
        Problem(entry.path + ".mtu", entry.wanted.mtu, mtu_range("datagram"), hint)
        for entry in entries
        if entry.item.get("mtu") and entry.wanted.mode != "connected" and entry.wanted.mtu > _wanted.MTU_MAX["datagram"]
    ]


def _scalars(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    found = value_problems(VARIABLES, variables)
    seconds = _wanted.parse_number(variables.get("ipoib_rollback_timeout", 0))
    if seconds is None or not (seconds == 0 or ROLLBACK_MIN <= seconds <= ROLLBACK_MAX):
        allowed = "0 (refuse what would cut the connection), or %d to %d seconds" % (ROLLBACK_MIN, ROLLBACK_MAX)
        found.append(Problem("ipoib_rollback_timeout", variables["ipoib_rollback_timeout"], allowed))
    return found


def _entries(sound: t.Sequence[tuple[str, t.Mapping[str, t.Any]]], facts: t.Mapping[str, t.Any] | None) -> tuple[list[Entry], list[Problem]]:
    """The parsed entries; with facts, under their names on the node."""
    if facts is None:
        return [Entry(path, item, _wanted.entry_of(item)) for path, item in sound], []
    resolution = resolve(sound, facts)
    namings = {naming.name: naming for naming in resolution.namings}
    bad = [problem.variable for problem in resolution.problems]
    entries = []
    for (path, _item), item in zip(sound, resolution.interfaces):
        if not any(variable == path or variable.startswith(path + ".") for variable in bad):
            wanted = _wanted.entry_of(item)
            entries.append(Entry(path, item, wanted, namings.get(wanted.name)))
    return entries, list(resolution.problems)


def _node_problems(entries: t.Sequence[Entry], facts: t.Mapping[str, t.Any]) -> list[Problem]:
    """Declared settings that this node does not support."""
    netdevs = {str(netdev.get("name")): netdev for netdev in facts.get("netdevs") or ()}
    existing = sorted(name for name, netdev in netdevs.items() if netdev.get("kind") in IPOIB_KINDS)
    loaded = any(module.get("name") == "ib_ipoib" for module in facts.get("modules") or ())
    ports = infiniband_ports(facts)
    found: list[Problem] = []
    absent = 0
    for entry in entries:
        path, wanted = entry.path, entry.wanted
        if not wanted.present:
            continue
        netdev = netdevs.get(wanted.name)
        if wanted.bond is not None:
            found += _bond_problems(entry, netdev, netdevs)
        elif netdev is None and entry.naming:
            # It exists under another name, or appears with the driver and gets this name then.
            found += _mode_problems(path, wanted._replace(name=entry.naming.current or wanted.name), facts)
            continue
        elif netdev is not None and netdev.get("kind") not in IPOIB_KINDS:
            allowed = "an IPoIB interface of this node: " + (", ".join(existing) or "it has none")
            found.append(Problem(entry.name_path, wanted.name, allowed, "%s is not an IPoIB interface, but of kind %s" % (wanted.name, netdev.get("kind"))))
            continue
        else:
            if netdev is None and not wanted.is_child:
                absent += 1
                fault = _missing_fault(
                    absent + len([name for name in existing if not netdevs[name].get("parent")]), existing, loaded=loaded, ports=ports, facts=facts
                )
                if fault:
                    found.append(Problem(entry.name_path, wanted.name, *fault))
                    continue
            found += _apart_problems(entry, netdev, facts)
            found += _namesake_problems(entry, netdev, netdevs)
            found += [*_mode_problems(path, wanted, facts), *_partition_problems(path, wanted, netdevs.get(wanted.parent))]
        found += _ipv6_problems(path, wanted, (facts.get("ipv6_refused") or {}).get(wanted.name if netdev is not None else DEFAULT, ""))
    return found


def _apart_problems(entry: Entry, netdev: t.Mapping[str, t.Any] | None, facts: t.Mapping[str, t.Any]) -> list[Problem]:
    """The problem of a kernel name that belongs to a device of no fabric. To configure such a device, declare its port."""
    if entry.item.get("port_guid") or entry.item.get("pci") or entry.wanted.is_child:
        return []
    guid = netdev.get("port_guid") if netdev is not None else coming(facts).get(entry.wanted.name)
    port = next((port for port in infiniband_ports(facts) if guid and port.get("port_guid") == guid), {})
    if not port.get("apart"):
        return []
    own = ", ".join("%s (%s)" % (port.get("port_guid"), port.get("name")) for port in of_fabric(facts.get("ports") or ())) or "none: this node has no HCA"
    what = "%s is on %s, %s: choose a port with port_guid or pci" % (entry.wanted.name, port.get("name"), in_words(str(port["apart"])))
    return [Problem(entry.name_path, entry.wanted.name, "an interface of an HCA of the fabric; ports: %s" % own, what)]


def _bond_problems(entry: Entry, netdev: t.Mapping[str, t.Any] | None, netdevs: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[Problem]:
    """Problems of a bond whose name is in use by something else. Bonds of Ethernet interfaces are not managed by this module."""
    if netdev is None:
        return []
    name = entry.wanted.name
    if netdev.get("kind") != "bond":
        return [Problem(entry.name_path, name, "a name that is free, or that of a bond", "%s is there, of kind %s" % (name, netdev.get("kind")))]
    foreign = sorted(port for port in netdev.get("members") or () if netdevs.get(port, {}).get("kind") not in IPOIB_KINDS)
    if foreign:
        return [Problem(entry.name_path, name, "a name that is free", "%s is a bond of %s" % (name, ", ".join(foreign)))]
    return []


def _namesake_problems(entry: Entry, netdev: t.Mapping[str, t.Any] | None, netdevs: t.Mapping[str, t.Any]) -> list[Problem]:
    """The problem of a child whose name belongs to a child of another parent."""
    wanted, parent = entry.wanted, str((netdev or {}).get("parent") or "")
    if not wanted.is_child or parent in ("", wanted.parent) or wanted.parent not in netdevs:
        return []
    hint = "%s is there, as the P_Key child of %s: the kernel keeps %d characters of a parent's name" % (wanted.name, parent, _wanted.PARENT_KEPT)
    return [Problem(entry.path + ".parent", wanted.parent, "a parent whose child has a name that is free", hint)]


def _partition_problems(path: str, wanted: _wanted.Interface, parent: t.Mapping[str, t.Any] | None) -> list[Problem]:
    """The problem of a child on the partition of its parent. A future parent is on the first P_Key of its port, by default 0xffff."""
    own = _wanted.parse_pkey((parent or {}).get("pkey")) or _wanted.DEFAULT_PKEY
    if not wanted.is_child or not _wanted.same_partition(wanted.pkey, own):
        return []
    hint = "%s itself is on that partition (0x%04x): declare the addresses there" % (wanted.parent, own)
    return [Problem(path + ".pkey", "0x%04x" % wanted.pkey, "a partition other than that of %s" % wanted.parent, hint)]


def _ipv6_problems(path: str, wanted: _wanted.Interface, refusal: str) -> list[Problem]:
    addresses = [address for address in wanted.addresses if _wanted.version(address) == 6]
    return [Problem(path + ".addresses", addresses[0], "IPv4 addresses on this node", refusal)] if refusal and addresses else []


def _missing_fault(
    count: int, existing: t.Sequence[str], *, loaded: bool, ports: t.Sequence[t.Mapping[str, t.Any]], facts: t.Mapping[str, t.Any]
) -> tuple[str, str] | None:
    """Why a missing interface can't appear; None where it may: ib_ipoib creates one per port when it is loaded."""
    ethernet = sorted(str(port.get("name")) for port in facts.get("ports") or () if port.get("link_layer") == "Ethernet")
    if not ports and ethernet:
        hint = "%s is in Ethernet mode; the parameter LINK_TYPE_P1 or LINK_TYPE_P2 of the card makes it an InfiniBand port, see the role hca_firmware"
        return "none: this node has no InfiniBand port", hint % ", ".join(ethernet)
    if not ports:
        return "none: declared port on a node without HCA", "no InfiniBand port was found on this node; see 'rdma link' and 'lspci -d 15b3:'"
    if loaded and existing:
        return "an IPoIB interface of this node: " + ", ".join(existing), "ib_ipoib is loaded, and that is not one of its interfaces"
    if count > len(ports):
        names = ", ".join(sorted(str(port.get("name")) for port in ports))
        return "at most %d interface(s) without a parent" % len(ports), "the InfiniBand ports of this node are %s" % names
    return None


def _mode_problems(path: str, wanted: _wanted.Interface, facts: t.Mapping[str, t.Any]) -> list[Problem]:
    if wanted.mode != "connected":
        return []
    capability = capability_of(wanted.name, wanted.parent, facts)
    return [] if capability.capable else [Problem(path + ".mode", "connected", "datagram on this port", capability.reason)]
