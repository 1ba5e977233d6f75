# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What is wrong with the role's variables: everything at once, in the user's words, before anything is touched."""

from __future__ import annotations

import difflib
import ipaddress
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._boolean import ALLOWED, is_boolean
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _ipv6, _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._capability import infiniband_ports, verdict_on

BACKENDS = ("auto", "systemd-networkd", "ifupdown")
LIST = "ipoib_interfaces"

# Kinds of netdev (see rdma_facts) that this module configures.
IPOIB_KINDS = ("ipoib", "ipoib_child")

ADDRESS_FORM = "an address of this host with its prefix length, such as 10.20.0.1/24 or fd00::1/64"
PKEY_FORM = "1 to 0x7fff (limited member) or 0x8001 to 0xffff (full member), as a number or as hexadecimal text"
NAME_FORM = "the name of a network interface: 1 to %d letters, digits, '.', '_' and '-'" % _wanted.NAME_MAX


class Entry(t.NamedTuple):
    """A declared interface: where it stands, as written, and as understood."""

    path: str
    item: t.Mapping[str, t.Any]
    wanted: _wanted.Wanted


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """What is wrong with C(ipoib_*) variables, on their own and, where given, against the node's C(rdma) facts."""
    found: list[Problem] = []
    for variable, choices in (("ipoib_state", _wanted.STATES), ("ipoib_backend", BACKENDS)):
        if variable in variables and not (isinstance(variables[variable], str) and variables[variable] in choices):
            found.append(Problem(variable, variables[variable], " or ".join(choices)))
    if "ipoib_backup" in variables and not is_boolean(variables["ipoib_backup"]):
        found.append(Problem("ipoib_backup", variables["ipoib_backup"], ALLOWED))
    interfaces = variables.get(LIST, [])
    if not isinstance(interfaces, (list, tuple)):
        found.append(Problem(LIST, interfaces, "a list of interfaces", "each is a mapping with at least a name"))
        return found
    # What compares interfaces with one another and with the node takes those that make sense on their own.
    sound: list[Entry] = []
    for index, item in enumerate(interfaces):
        path = "%s[%d]" % (LIST, index)
        own = _interface_problems(path, item, facts)
        found.extend(own)
        if not own:
            sound.append(Entry(path, item, _wanted.wanted_of([item])[0]))
    found.extend(_duplicates(sound))
    found.extend(_family_problems(sound, [item.get("name") for item in interfaces if isinstance(item, t.Mapping)]))
    if facts is not None and variables.get("ipoib_state") != "absent":
        found.extend(_node_problems(sound, facts))
    return found


def _interface_problems(path: str, item: t.Any, facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """One interface on its own; the facts only tell what to recommend."""
    if not isinstance(item, t.Mapping):
        return [Problem(path, item, "a mapping with at least a name", "for example {name: ib0, addresses: [10.20.0.1/24]}")]
    found = []
    for key in sorted(str(key) for key in item if key not in _wanted.KEYS):
        near = difflib.get_close_matches(key, _wanted.KEYS, n=1)
        found.append(Problem("%s.%s" % (path, key), item.get(key), "one of the keys " + ", ".join(_wanted.KEYS), "did you mean %s?" % near[0] if near else ""))
    found.extend(_name_problems(path, item))
    for key, choices in (("mode", _wanted.MODES), ("state", _wanted.STATES)):
        value = item.get(key)
        if value is not None and not (isinstance(value, str) and value in choices):
            found.append(Problem("%s.%s" % (path, key), value, " or ".join(choices)))
    found.extend(_address_problems(path + ".addresses", item.get("addresses")))
    found.extend(_mtu_problems(path + ".mtu", item, facts))
    found.extend(_ipv6_mtu_problems(path, item))
    found.extend(_child_problems(path, item))
    return found


def _name_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    name = item.get("name")
    if name is None and item.get("parent") is not None and item.get("pkey") is not None:
        return []
    if not _is_name(name):
        return [Problem(path + ".name", name, NAME_FORM)]
    return []


def _is_name(value: t.Any) -> bool:
    # The kernel takes more; such names would need quoting in every network stack's files.
    return isinstance(value, str) and re.match(r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,14}\Z", value) is not None


def _address_problems(path: str, addresses: t.Any) -> list[Problem]:
    if addresses is None:
        return []
    if not isinstance(addresses, (list, tuple)):
        return [Problem(path, addresses, "a list, each entry " + ADDRESS_FORM)]
    found = []
    for index, address in enumerate(addresses):
        allowed, hint = _address_fault(address)
        if allowed:
            found.append(Problem("%s[%d]" % (path, index), address, allowed, hint))
    return found


def _address_fault(address: t.Any) -> tuple[str, str]:
    """What would be accepted instead, and why; two empty texts for a good address."""
    if not isinstance(address, str):
        return ADDRESS_FORM, ""
    if "/" not in address:
        return ADDRESS_FORM, "the prefix length is missing"
    # Netmasks behind the slash would be understood by the library and by nothing else here.
    if not address.split("/", 1)[1].isdigit():
        return ADDRESS_FORM, "behind the slash stands the number of network bits"
    try:
        interface = ipaddress.ip_interface(address)
    except ValueError as exc:
        return ADDRESS_FORM, str(exc)
    network, bits = interface.network, interface.max_prefixlen
    if interface.ip.is_multicast or interface.ip.is_unspecified or interface.ip.is_loopback:
        return ADDRESS_FORM, "it is not a unicast address of a host"
    if network.prefixlen < bits - 1 and interface.ip == network.network_address:
        return ADDRESS_FORM, "it is the address of the network %s itself" % network
    if interface.version == 4 and network.prefixlen < bits - 1 and interface.ip == network.broadcast_address:
        return ADDRESS_FORM, "it is the broadcast address of %s" % network
    return "", ""


def _mtu_range(mode: str) -> str:
    return "%d to %d in %s mode" % (_wanted.MTU_MIN, _wanted.MTU_MAX[mode], mode)


def _mtu_problems(path: str, item: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None) -> list[Problem]:
    mtu = item.get("mtu")
    if mtu is None:
        return []
    mode = "datagram" if item.get("mode") == "datagram" else "connected"
    number = _wanted.parse_mtu(mtu)
    if number is not None and _wanted.MTU_MIN <= number <= _wanted.MTU_MAX[mode]:
        return []
    name, parent = (str(item[key]) if _is_name(item.get(key)) else "" for key in ("name", "parent"))
    if mode == "connected" and facts is not None and (name or parent):
        verdict = verdict_on(name, parent, facts)
        if not verdict.capable:
            return [Problem(path, mtu, _mtu_range("datagram"), "this port does no other mode: " + verdict.reason)]
    return [Problem(path, mtu, _mtu_range(mode))]


def _ipv6_mtu_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    """The kernel takes IPv6 away from an interface whose MTU is below the least of IPv6, and gives no error."""
    number, addresses = _wanted.parse_mtu(item.get("mtu")), item.get("addresses")
    if number is None or not _wanted.MTU_MIN <= number < _wanted.MTU_MIN_IPV6 or not isinstance(addresses, (list, tuple)):
        return []
    if not any(_is_ipv6(address) for address in addresses):
        return []
    return [Problem(path + ".mtu", item.get("mtu"), "%d or more on an interface with an IPv6 address" % _wanted.MTU_MIN_IPV6, "that is the least of IPv6")]


def _is_ipv6(address: t.Any) -> bool:
    return isinstance(address, str) and ":" in address


def _child_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    parent, pkey, name = item.get("parent"), item.get("pkey"), item.get("name")
    if parent is None and pkey is None:
        return []
    found = []
    if not _is_name(parent):
        found.append(Problem(path + ".parent", parent, "the name of the interface on which the P_Key child is", "a pkey needs a parent"))
    number = _wanted.parse_pkey(pkey)
    if number is None or not 0 < number <= 0xFFFF or number == 0x8000:
        hint = "a child needs a pkey" if pkey is None else ("the 15 bits of the partition must not be zero" if number in (0, 0x8000) else "")
        # YAML has made a decimal number of 0x8000: it is shown as its author wrote it.
        shown = "0x%04x" % pkey if isinstance(pkey, int) and not isinstance(pkey, bool) else pkey
        found.append(Problem(path + ".pkey", shown, PKEY_FORM, hint))
    if found or number is None or not isinstance(parent, str):
        return found
    expected = _wanted.child_name(parent, number)
    if name is not None and name != expected:
        return [Problem(path + ".name", name, expected, "the kernel names a P_Key child after its parent and its P_Key; leave name out to get it")]
    return []


def _duplicates(entries: t.Sequence[Entry]) -> list[Problem]:
    """An interface, a partition of a parent, or an address that is declared twice."""
    found = []
    seen: dict[tuple[str, ...], str] = {}

    def once(key: tuple[str, ...], path: str, value: t.Any, what: str) -> None:
        if key in seen:
            found.append(Problem(path, value, what, "%s says the same" % seen[key]))
        seen.setdefault(key, path)

    for path, item, wanted in entries:
        once(("name", wanted.name), path + ".name", wanted.name, "each interface once")
        if wanted.is_child:
            once(("partition", wanted.parent, str(wanted.pkey & 0x7FFF)), path + ".pkey", item.get("pkey"), "each partition once on a parent")
        for position, address in enumerate(wanted.addresses if wanted.present else ()):
            once(("address", address.split("/")[0]), "%s.addresses[%d]" % (path, position), address, "each address once on a node")
    return found


def _family_problems(entries: t.Sequence[Entry], names: t.Sequence[t.Any]) -> list[Problem]:
    """Children whose parent is not declared, is a child itself, or goes away; C(names) are all declared ones, sound or not."""
    declared = {entry.wanted.name: entry.wanted for entry in entries}
    found = []
    for entry in entries:
        wanted, path = entry.wanted, entry.path + ".parent"
        if not wanted.is_child or not wanted.present:
            continue
        parent = declared.get(wanted.parent)
        if parent is None:
            if wanted.parent in names:
                continue
            allowed = "an interface that is declared too: " + (", ".join(sorted(name for name, other in declared.items() if not other.is_child)) or "none is")
            found.append(Problem(path, wanted.parent, allowed, "declare %s, without addresses if it shall have none" % wanted.parent))
        elif parent.is_child:
            found.append(Problem(path, wanted.parent, "an interface that is no child itself", "the kernel refuses children of children"))
        elif not parent.present:
            found.append(Problem(path, wanted.parent, "an interface whose state is present", "a child goes with its parent"))
    return found


def _node_problems(entries: t.Sequence[Entry], facts: t.Mapping[str, t.Any]) -> list[Problem]:
    """What the node can't do."""
    netdevs = {str(netdev.get("name")): netdev for netdev in facts.get("netdevs") or ()}
    existing = sorted(name for name, netdev in netdevs.items() if netdev.get("kind") in IPOIB_KINDS)
    loaded = any(module.get("name") == "ib_ipoib" for module in facts.get("modules") or ())
    ports = infiniband_ports(facts)
    found = []
    absent = 0
    for path, _item, wanted in entries:
        if not wanted.present:
            continue
        netdev = netdevs.get(wanted.name)
        if netdev is not None and netdev.get("kind") not in IPOIB_KINDS:
            allowed = "an IPoIB interface of this node: " + (", ".join(existing) or "it has none")
            found.append(Problem(path + ".name", wanted.name, allowed, "%s is not an IPoIB interface, but of kind %s" % (wanted.name, netdev.get("kind"))))
            continue
        if netdev is None and not wanted.is_child:
            absent += 1
            fault = _missing_fault(absent + len([name for name in existing if not netdevs[name].get("parent")]), existing, loaded, ports)
            if fault:
                found.append(Problem(path + ".name", wanted.name, *fault))
                continue
        found.extend(_mode_problems(path, wanted, facts))
        found.extend(_partition_problems(path, wanted, netdevs.get(wanted.parent)))
        found.extend(_ipv6_problems(path, wanted, netdev is not None, facts.get("ipv6_refused") or {}))
    return found


def _partition_problems(path: str, wanted: _wanted.Wanted, parent: t.Mapping[str, t.Any] | None) -> list[Problem]:
    """A child on the partition of its parent. A parent that is still to come is on the port's first one, by default 0xffff."""
    own = _wanted.parse_pkey((parent or {}).get("pkey")) or _wanted.DEFAULT_PKEY
    if not wanted.is_child or not _wanted.same_partition(wanted.pkey, own):
        return []
    hint = "%s itself is on that partition (0x%04x): give the addresses to it" % (wanted.parent, own)
    return [Problem(path + ".pkey", "0x%04x" % wanted.pkey, "a partition other than that of %s" % wanted.parent, hint)]


def _ipv6_problems(path: str, wanted: _wanted.Wanted, exists: bool, refused: t.Mapping[str, str]) -> list[Problem]:
    reason = refused.get(wanted.name if exists else _ipv6.DEFAULT, "")
    versions = [address for address in wanted.addresses if _is_ipv6(address)]
    return [Problem(path + ".addresses", versions[0], "IPv4 addresses on this node", reason)] if reason and versions else []


def _missing_fault(count: int, existing: t.Sequence[str], loaded: bool, ports: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[str, str] | None:
    """Why an interface that is not there can't come, or None where it may: ib_ipoib makes one a port when it is loaded."""
    if not ports:
        return "none: declared port on a node without HCA", "no InfiniBand port was found on this node; see 'rdma link' and 'lspci -d 15b3:'"
    if loaded and existing:
        return "an IPoIB interface of this node: " + ", ".join(existing), "ib_ipoib is loaded, and that is none of its interfaces"
    if count > len(ports):
        names = ", ".join(str(port.get("name")) for port in ports)
        return "at most %d interface(s) without a parent" % len(ports), "the InfiniBand ports of this node are %s" % names
    return None


def _mode_problems(path: str, wanted: _wanted.Wanted, facts: t.Mapping[str, t.Any]) -> list[Problem]:
    if wanted.mode == "datagram":
        return []
    verdict = verdict_on(wanted.name, wanted.parent, facts)
    if verdict.capable:
        return []
    if wanted.mode == "connected":
        return [Problem(path + ".mode", "connected", "datagram or auto on this port", verdict.reason)]
    if wanted.mtu > _wanted.MTU_MAX["datagram"]:
        return [Problem(path + ".mtu", wanted.mtu, _mtu_range("datagram"), "mode auto means datagram on this port: " + verdict.reason)]
    return []


__all__ = ("BACKENDS", "IPOIB_KINDS", "problems")
