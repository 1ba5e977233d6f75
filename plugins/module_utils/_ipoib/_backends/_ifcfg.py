# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Red Hat's ifcfg files: what describes IPoIB interfaces to NetworkManager's ifcfg reader and to network-scripts. Pure.

Both read the same files and differ in a few points, so there is one renderer with a switch (`nm`):

- A P_Key without the membership bit: network-scripts (ifup-ib) add the bit, want the name that results from it, and so
  can't do limited membership. NetworkManager adds it to PKEY_ID as well, and takes PKEY_ID_NM as it is since 1.44.
- A default route in a route file: NetworkManager before 1.20, which is RHEL 7, passes over it and wants GATEWAY;
  ifup-ib takes GATEWAY only where it lies in the network of the first address.
- The ports of a bond: network-scripts start them with the bond. NetworkManager does as well where the bond says so, and
  ports that are started on their own then leave and re-enter it.
"""

from __future__ import annotations

import ipaddress
import re
import typing as t
import uuid

from ..._host._files import HEADER
from ..._host._sourced import assignments
from .._found import Record
from .._identity import Identity
from .._wanted import Interface, Route, version
from ._assignments import Folder

DIRECTORY = "/etc/sysconfig/network-scripts"

# route-NAME and route6-NAME belong to ifcfg-NAME.
_FOLDER = Folder(DIRECTORY, ("ifcfg", "route", "route6"))
PATTERNS = _FOLDER.patterns
path_of, is_ours, own_files = _FOLDER.path_of, _FOLDER.is_ours, _FOLDER.own_files
# Neither network-scripts nor NetworkManager read these.
_LEFTOVER = re.compile(r"(~|\.(bak|orig|rej|rpmorig|rpmnew|rpmsave|augnew|augtmp))$")


def uuid_of(name: str) -> str:
    """The UUID of the profile, by which nmcli finds it whatever other profiles are called."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "rdma.ofed:" + path_of(name)))


def render(interfaces: t.Sequence[Interface], nm: bool = True) -> dict[str, str]:
    """The ifcfg file of every interface and the files of its routes, by path. `nm`: NetworkManager reads them."""
    files: dict[str, str] = {}
    for interface in interfaces:
        files.update(_FOLDER.described(interface.name, _ifcfg(interface, nm)))
        gateways = _gateways(interface, nm)
        for kind, family in (("route", 4), ("route6", 6)):
            routes = [route for route in interface.routes if version(route.to) == family and route not in gateways]
            if routes:
                files[path_of(interface.name, kind)] = HEADER + "".join(" ".join(route.words(interface.name)) + "\n" for route in routes)
    return files


def _ifcfg(interface: Interface, nm: bool) -> t.Iterator[tuple[str, str]]:
    port = bool(interface.master)
    yield "DEVICE", interface.name
    yield "NAME", interface.name
    if nm:
        yield "UUID", uuid_of(interface.name)
    else:
        # Where both are installed, NetworkManager would configure the interface as well.
        yield "NM_CONTROLLED", "no"
    yield "TYPE", "Bond" if interface.bond else "InfiniBand"
    yield "ONBOOT", "no" if port and nm else "yes"
    yield "BOOTPROTO", "none"
    if interface.bond:
        yield "BONDING_MASTER", "yes"
        yield "BONDING_OPTS", " ".join(interface.bond.options)
        if nm:
            yield "AUTOCONNECT_SLAVES", "yes"
    else:
        yield "CONNECTED_MODE", "yes" if interface.mode == "connected" else "no"
    if interface.is_child:
        yield "PKEY", "yes"
        yield "PHYSDEV", interface.parent
        # With 0x: the shell of ifup-ib would take it for a decimal number.
        yield "PKEY_ID", "0x%04x" % interface.pkey
        if interface.is_limited:
            yield "PKEY_ID_NM", "0x%04x" % interface.pkey
    if interface.mtu:
        yield "MTU", str(interface.mtu)
    if port:
        yield "MASTER", interface.master
        yield "SLAVE", "yes"
    else:
        yield from _addresses(interface)
        yield from ((("IPV6_DEFAULTGW" if version(route.to) == 6 else "GATEWAY"), route.via) for route in _gateways(interface, nm))


def _addresses(interface: Interface) -> t.Iterator[tuple[str, str]]:
    addresses = [ipaddress.ip_interface(address) for address in interface.addresses]
    for position, address in enumerate(item for item in addresses if item.version == 4):
        # Without a number, the first: every release of both readers knows it.
        suffix = str(position) if position else ""
        yield "IPADDR" + suffix, str(address.ip)
        yield "PREFIX" + suffix, str(address.network.prefixlen)
    addresses6 = [str(address) for address in addresses if address.version == 6]
    # The addresses are the declared ones: none from router advertisements.
    yield "IPV6INIT", "yes"
    yield "IPV6_AUTOCONF", "no"
    if addresses6:
        yield "IPV6ADDR", addresses6[0]
    if addresses6[1:]:
        yield "IPV6ADDR_SECONDARIES", " ".join(addresses6[1:])


def _gateways(interface: Interface, nm: bool) -> list[Route]:
    """The default routes, one of each version, that are written as a gateway of the interface."""
    found: dict[int, Route] = {}
    for route in interface.routes:
        if nm and route.via and not route.metric and ipaddress.ip_network(route.to, strict=False).prefixlen == 0:
            found.setdefault(version(route.to), route)
    return [found[family] for family in sorted(found)]


def records(files: t.Mapping[str, str]) -> dict[str, Record]:
    return _FOLDER.records(files, _recorded)


def _recorded(variables: t.Mapping[str, str]) -> list[str]:
    found = ["%s/%s" % (value, variables.get("PREFIX" + key[len("IPADDR") :], "32")) for key, value in variables.items() if re.match(r"^IPADDR\d*$", key)]
    return [*found, *variables.get("IPV6ADDR", "").split(), *variables.get("IPV6ADDR_SECONDARIES", "").split()]


def conflicts(interface: Identity, files: t.Mapping[str, str]) -> tuple[str, ...]:
    """Foreign files that configure an interface or an alias of it, by DEVICE, port, parent and P_Key or their own name, and routes of it."""
    found = []
    for path, kind, named in _FOLDER.foreign(files):
        variables = assignments(files[path]) if kind == "ifcfg" else {}
        devices = {named, variables.get("DEVICE", named)}
        means = interface.name in {device.split(":", 1)[0] for device in devices} or ("DEVICE" not in variables and _means(interface, variables))
        if means and not _LEFTOVER.search(path):
            found.append(path)
    return tuple(found)


def _means(interface: Identity, variables: t.Mapping[str, str]) -> bool:
    """Whether a file without DEVICE is for an interface: NetworkManager goes by what else there is, for any InfiniBand interface by nothing."""
    parent, pkey, address = (variables.get(key, "") for key in ("PHYSDEV", "PKEY_ID", "HWADDR"))
    on_port = interface.is_at(address) if address else not parent
    if pkey or variables.get("PKEY", "").lower() in ("yes", "true", "1"):
        return interface.is_child(pkey) and (parent == interface.parent if parent else on_port)
    if parent or interface.pkey:
        return False
    return on_port and (bool(address) or variables.get("TYPE", "").lower() == "infiniband")
