# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate one entry of the interfaces on its own, with messages for users. Pure."""

from __future__ import annotations

import ipaddress
import typing as t

from .._errors import Problem, unknown_keys
from .._facts._portname import parse_function
from .._foreign import BOOLEAN, decimal, is_boolean
from . import _wanted
from ._identity import capability_of

ADDRESS_FORM = "an address of this host with its prefix length, such as 10.20.0.1/24 or fd00::1/64"
PKEY_FORM = "1 to 0x7fff (limited member) or 0x8001 to 0xffff (full member), as a number or as hexadecimal text"
NAME_FORM = "the name of a network interface: 1 to %d letters, digits, '.', '_' and '-'" % _wanted.NAME_MAX
GUID_FORM = "a port GUID in quotes, 0x and 16 hexadecimal digits: the last 8 bytes of the hardware address"
PCI_FORM = "a PCI address in quotes, such as 0000:03:00.0, or 0000:03:00.0/2 for the second port of an adapter"
BOND_FORM = "a mapping with ports, for example {ports: [ib0, ib1], primary: ib0}"
PORTS_FORM = "a list of one or more interfaces, each by its name or port GUID"
ROUTE_FORM = "a mapping such as {to: 10.30.0.0/16, via: 10.20.0.254, metric: 100}"
MIIMON_MAX = 60000
METRIC_MAX = 2**32 - 1


def entry_problems(path: str, item: t.Any, facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Problems of one entry on its own. The facts serve only for recommendations."""
    if not isinstance(item, t.Mapping):
        return [Problem(path, item, "a mapping with at least a name", "for example {name: ib0, addresses: [10.20.0.1/24]}")]
    found = [*unknown_keys(path, item, _wanted.KEYS), *_name_problems(path, item)]
    for key, choices in (("mode", _wanted.MODES), ("state", _wanted.STATES)):
        if item.get(key) not in (None, *choices):
            found.append(Problem("%s.%s" % (path, key), item[key], " or ".join(choices)))
    if item.get("dhcp") is not None and not is_boolean(item["dhcp"]):
        found.append(Problem(path + ".dhcp", item["dhcp"], BOOLEAN))
    found += _listed(path + ".addresses", item.get("addresses"), form=ADDRESS_FORM, check=_address_problems)
    found += [*_mtu_problems(path + ".mtu", item, facts), *_ipv6_mtu_problems(path, item), *_child_problems(path, item)]
    found += [*_identity_problems(path, item), *_bond_problems(path, item)]
    found += _listed(path + ".routes", item.get("routes"), form=ROUTE_FORM, check=lambda where, route: _route_problems(where, route, item.get("addresses")))
    return found


def without_rail(item: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """An entry whose rail is checked elsewhere, with a PCI address in its place."""
    return {**{key: value for key, value in item.items() if key != "rail"}, "pci": "0000:00:00.0"}


def _listed(path: str, value: t.Any, *, form: str, check: t.Callable[[str, t.Any], list[Problem]]) -> list[Problem]:
    """Check an optional list: `check` returns the problems of an entry at its path."""
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        return [Problem(path, value, "a list, each entry " + form)]
    return [problem for position, entry in enumerate(value) for problem in check("%s[%d]" % (path, position), entry)]


def _name_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    name = item.get("name")
    known = item.get("port_guid") is not None or item.get("pci") is not None or (item.get("parent") is not None and item.get("pkey") is not None)
    return [] if _wanted.is_name(name) or (name is None and known) else [Problem(path + ".name", name, NAME_FORM)]


def _identity_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of the keys that identify the port, whatever the name of its interface."""
    found = []
    guid, pci = item.get("port_guid"), item.get("pci")
    if guid is not None and not _wanted.is_guid(guid):
        found.append(Problem(path + ".port_guid", guid, GUID_FORM))
    if pci is not None and parse_function(pci) is None:
        found.append(Problem(path + ".pci", pci, PCI_FORM))
    if guid is not None and pci is not None:
        found.append(Problem(path + ".pci", pci, "either pci or port_guid", "both select the port"))
    key = "port_guid" if guid is not None else "pci"
    for other, what in (("parent", "a P_Key child"), ("bond", "a bond")):
        if item.get(other) is not None and item.get(key) is not None:
            found.append(Problem("%s.%s" % (path, key), item[key], "nothing for %s" % what, "only a port's own interface is selected by its port"))
    return found


def _address_problems(path: str, address: t.Any) -> list[Problem]:
    fault = _address_fault(address)
    return [] if fault is None else [Problem(path, address, ADDRESS_FORM, fault)]


def _address_fault(address: t.Any) -> str | None:
    """Why an address is refused; "" where that is obvious, and None for a valid address."""
    if not isinstance(address, str):
        return ""
    if "/" not in address:
        return "the prefix length is missing"
    # The library would accept netmasks after the slash, but nothing else here would.
    if decimal(address.split("/", 1)[1]) is None:
        return "the slash is followed by the number of network bits"
    try:
        interface = ipaddress.ip_interface(address)
    except ValueError as exc:
        return str(exc)
    network, bits = interface.network, interface.max_prefixlen
    if interface.ip.is_multicast or interface.ip.is_unspecified or interface.ip.is_loopback:
        return "it is not a unicast address of a host"
    if network.prefixlen < bits - 1 and interface.ip == network.network_address:
        return "it is the address of the network %s itself" % network
    if interface.version == 4 and network.prefixlen < bits - 1 and interface.ip == network.broadcast_address:
        return "it is the broadcast address of %s" % network
    return None


def mtu_range(mode: str) -> str:
    return "%d to %d in %s mode" % (_wanted.MTU_MIN, _wanted.MTU_MAX[mode], mode)


def _mtu_problems(path: str, item: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None) -> list[Problem]:
    mtu = item.get("mtu")
    if mtu is None:
        return []
    mode = "datagram" if item.get("mode") == "datagram" else "connected"
    number = _wanted.parse_number(mtu)
    if number is not None and _wanted.MTU_MIN <= number <= _wanted.MTU_MAX[mode]:
        return []
    name, parent = (str(item[key]) if _wanted.is_name(item.get(key)) else "" for key in ("name", "parent"))
    if mode == "connected" and facts is not None and (name or parent):
        capability = capability_of(name, parent, facts)
        if not capability.capable:
            return [Problem(path, mtu, mtu_range("datagram"), "this port supports no other mode: " + capability.reason)]
    return [Problem(path, mtu, mtu_range(mode))]


def _ipv6_mtu_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of an MTU below the IPv6 minimum: the kernel silently removes IPv6 from such an interface."""
    number, addresses = _wanted.parse_number(item.get("mtu")), item.get("addresses")
    if number is None or not _wanted.MTU_MIN <= number < _wanted.MTU_MIN_IPV6:
        return []
    if not isinstance(addresses, (list, tuple)) or not any(isinstance(address, str) and _wanted.version(address) == 6 for address in addresses):
        return []
    return [Problem(path + ".mtu", item.get("mtu"), "%d or more on an interface with an IPv6 address" % _wanted.MTU_MIN_IPV6, "that is the minimum for IPv6")]


def _child_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    parent, pkey, name = item.get("parent"), item.get("pkey"), item.get("name")
    if parent is None and pkey is None:
        return []
    found = []
    if not _wanted.is_reference(parent):
        found.append(Problem(path + ".parent", parent, "the name of the interface on which the P_Key child is", "a pkey needs a parent"))
    number = _wanted.parse_pkey(pkey)
    if number is None or not 0 < number <= 0xFFFF or number == 0x8000:
        hint = "a child needs a pkey" if pkey is None else ("the 15 bits of the partition must not be zero" if number in (0, 0x8000) else "")
        # YAML has turned 0x8000 into a decimal number: show it as the user wrote it.
        shown = "0x%04x" % pkey if isinstance(pkey, int) and not isinstance(pkey, bool) else pkey
        found.append(Problem(path + ".pkey", shown, PKEY_FORM, hint))
    if found or number is None or not isinstance(parent, str):
        return found
    if _wanted.is_guid(parent):
        # The name of the parent is known only on the node.
        return []
    expected = _wanted.child_name(parent, number)
    if name is not None and name != expected:
        return [Problem(path + ".name", name, expected, "the kernel names a P_Key child after its parent and its P_Key; leave name out to get it")]
    return []


def _bond_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    bond, path = item.get("bond"), path + ".bond"
    if bond is None:
        return []
    if not isinstance(bond, t.Mapping):
        return [Problem(path, bond, BOND_FORM)]
    found = unknown_keys(path, bond, _wanted.BOND_KEYS)
    if item.get("parent") is not None or item.get("pkey") is not None:
        hint = "the kernel creates P_Key children only on ports: declare them there, and bond the children"
        found.append(Problem(path, bond, "an interface that is not a P_Key child", hint))
    if item.get("name") is None:
        found.append(Problem(path, bond, "an entry with a name: that of the bond"))
    found += _port_problems(path, bond, item.get("name"))
    if bond.get("mode") not in (None, _wanted.BOND_MODE):
        found.append(Problem(path + ".mode", bond["mode"], _wanted.BOND_MODE, "the kernel accepts IPoIB interfaces in a bond of no other mode"))
    if bond.get("fail_over_mac") not in (None, _wanted.BOND_POLICY):
        hint = "an IPoIB interface can't take over the hardware address of another, so the kernel allows nothing else"
        found.append(Problem(path + ".fail_over_mac", bond["fail_over_mac"], _wanted.BOND_POLICY, hint))
    miimon = bond.get("miimon")
    if miimon is not None and not 1 <= (_wanted.parse_number(miimon) or 0) <= MIIMON_MAX:
        hint = "without it, a port that has lost its link is not detected" if miimon in (0, "0") else ""
        found.append(Problem(path + ".miimon", miimon, "1 to %d ms" % MIIMON_MAX, hint))
    return found


def _port_problems(path: str, bond: t.Mapping[str, t.Any], name: t.Any) -> list[Problem]:
    ports, primary = bond.get("ports"), bond.get("primary")
    if not isinstance(ports, (list, tuple)) or not ports:
        return [Problem(path + ".ports", ports, PORTS_FORM)]
    found = []
    for position, port in enumerate(ports):
        where = "%s.ports[%d]" % (path, position)
        if not _wanted.is_reference(port):
            found.append(Problem(where, port, "the name of a network interface, or its port GUID"))
        elif port == name:
            found.append(Problem(where, port, "an interface other than the bond itself"))
        elif port in ports[:position]:
            found.append(Problem(where, port, "each port once"))
    if primary is not None and primary not in ports:
        found.append(Problem(path + ".primary", primary, "one of the ports: " + ", ".join(str(port) for port in ports)))
    return found


def _route_problems(path: str, route: t.Any, addresses: t.Any) -> list[Problem]:
    if not isinstance(route, t.Mapping):
        return [Problem(path, route, ROUTE_FORM)]
    found = unknown_keys(path, route, _wanted.ROUTE_KEYS)
    to, via, metric = route.get("to"), route.get("via"), route.get("metric")
    network = gateway = None
    if to != "default":
        try:
            network = _network(to)
        except ValueError as exc:
            found.append(Problem(path + ".to", to, "a network such as 10.30.0.0/16, or default", str(exc)))
    if via is not None:
        gateway = _gateway(via)
        if gateway is None:
            found.append(Problem(path + ".via", via, "the address of a gateway, such as 10.20.0.254"))
    elif to == "default":
        found.append(Problem(path + ".via", via, "the address of a gateway", "a default route needs one"))
    if network is not None and gateway is not None and network.version != gateway.version:
        found.append(Problem(path + ".via", via, "an IPv%d address, as %s" % (network.version, to)))
    elif gateway is not None and not _reachable(gateway, addresses):
        found.append(
            Problem(path + ".via", via, "an address in a network of this interface", "the kernel accepts no gateway that it can't reach over this interface")
        )
    if metric is not None and not 1 <= (_wanted.parse_number(metric) or 0) <= METRIC_MAX:
        found.append(Problem(path + ".metric", metric, "1 to %d" % METRIC_MAX))
    return found


def _network(to: t.Any) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Parse a destination. Raises ValueError, with the reason unless it is obvious."""
    if not isinstance(to, str) or ("/" in to and decimal(to.split("/", 1)[1]) is None):
        raise ValueError
    return ipaddress.ip_network(to)


def _gateway(via: t.Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(via) if isinstance(via, str) and "%" not in via else None
    except ValueError:
        return None


def _reachable(gateway: ipaddress.IPv4Address | ipaddress.IPv6Address, addresses: t.Any) -> bool:
    """Whether a gateway is on a network of the interface. Link-local gateways always are; invalid addresses are reported elsewhere."""
    if gateway.version == 6 and gateway.is_link_local:
        return True
    for address in addresses if isinstance(addresses, (list, tuple)) else ():
        try:
            network = ipaddress.ip_interface(address).network
        except (ValueError, TypeError):
            return True
        if network.version == gateway.version and gateway in network:
            return True
    return False
