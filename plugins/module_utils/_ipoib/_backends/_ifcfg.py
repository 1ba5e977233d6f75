# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Red Hat's ifcfg files, which describe IPoIB interfaces to NetworkManager's ifcfg reader and to network-scripts. Pure.

Both readers take the same files and differ in a few points, so one renderer has a switch (`nm`):

- A P_Key without the membership bit: network-scripts (ifup-ib) set the bit and require the resulting name, so they
  don't support limited membership. NetworkManager also sets it in PKEY_ID, and takes PKEY_ID_NM unchanged since 1.44.
- A default route in a route file: NetworkManager before 1.20, which is RHEL 7, ignores it and needs GATEWAY;
  ifup-ib takes GATEWAY only if it is in the network of the first address.
- The ports of a bond: network-scripts start them with the bond. So does NetworkManager where the bond says so, and
  ports that are started separately then leave and rejoin it.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
import typing as t
import uuid

from ..._host._files import HEADER
from ..._host._sourced import assignments, quoted
from .._found import Record
from .._identity import Identity
from .._wanted import Interface, Route, version
from ._assignments import BOND_OPTION, Folder
from ._networkmanager_profiles import is_uuid, md5

DIRECTORY = "/etc/sysconfig/network-scripts"

# route-NAME and route6-NAME belong to ifcfg-NAME.
_FOLDER = Folder(DIRECTORY, ("ifcfg", "route", "route6"))
PATTERNS = _FOLDER.patterns
path_of, is_ours, own_files = _FOLDER.path_of, _FOLDER.is_ours, _FOLDER.own_files
_IDENTITY = {"HWADDR", "PKEY_ID"}
# Neither network-scripts nor NetworkManager reads these.
_LEFTOVER = re.compile(r"(~|\.(bak|orig|rej|rpmorig|rpmnew|rpmsave|augnew|augtmp))$")


def uuid_of(name: str) -> str:
    """The UUID of the profile. nmcli finds the profile by it, whatever names other profiles have."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "rdma.ofed:" + path_of(name)))


def profile(path: str, text: str) -> str:
    """The UUID that NetworkManager gives to the profile of an ifcfg file: the one in it, else the MD5 sum of the path. "" for files of routes, and for a UUID
    of another form.
    """
    if not posixpath.basename(path).startswith("ifcfg-"):
        return ""
    digest = md5(path.encode("utf-8", "surrogateescape"))
    found = assignments(text).get("UUID") or (str(uuid.UUID(bytes=digest)) if digest else "")
    return found if is_uuid(found) else ""


def continued(files: t.Mapping[str, str]) -> dict[str, str]:
    """The UUIDs that our profiles have from those in whose place they are, by interface."""
    own = {name: profile(path_of(name), files[path_of(name)]) for name in records(files)}
    return {name: found for name, found in own.items() if found not in ("", uuid_of(name))}


def render(interfaces: t.Sequence[Interface], nm: bool = True, uuids: t.Mapping[str, str] | None = None) -> dict[str, str]:
    """The ifcfg file of each interface and the files of its routes, by path. `nm`: whether NetworkManager reads them. `uuids`: see `continued`."""
    files: dict[str, str] = {}
    for interface in interfaces:
        files.update(_FOLDER.described(interface.name, _ifcfg(interface, nm, uuids or {})))
        gateways = _gateways(interface, nm)
        for kind, family in (("route", 4), ("route6", 6)):
            routes = [route for route in interface.routes if version(route.to) == family and route not in gateways]
            if routes:
                files[path_of(interface.name, kind)] = HEADER + "".join(" ".join(route.words(interface.name)) + "\n" for route in routes)
    return files


def zone_in(text: str) -> str:
    """The zone of the firewall, which both readers pass on to firewalld; "" for the default zone."""
    return assignments(text).get("ZONE", "")


def zoned(text: str, zone: str) -> str:
    """An ifcfg file of ours with this zone of the firewall, or with none."""
    lines = [line for line in text.splitlines(True) if not line.startswith("ZONE=")]
    return "".join([*lines, *(["ZONE=%s\n" % quoted(zone)] if zone else [])])


def _ifcfg(interface: Interface, nm: bool, uuids: t.Mapping[str, str]) -> t.Iterator[tuple[str, str]]:
    port = bool(interface.master)
    yield "DEVICE", interface.name
    yield "NAME", interface.name
    if nm:
        yield "UUID", uuids.get(interface.name) or uuid_of(interface.name)
    else:
        # Where both are installed, NetworkManager would also configure the interface.
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
        # With 0x: the shell of ifup-ib would read the digits as a decimal number.
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
        # The first address has no number: every release of both readers supports that.
        suffix = str(position) if position else ""
        yield "IPADDR" + suffix, str(address.ip)
        yield "PREFIX" + suffix, str(address.network.prefixlen)
    addresses6 = [str(address) for address in addresses if address.version == 6]
    # Only the declared addresses: none from router advertisements.
    yield "IPV6INIT", "yes"
    yield "IPV6_AUTOCONF", "no"
    if addresses6:
        yield "IPV6ADDR", addresses6[0]
    if addresses6[1:]:
        yield "IPV6ADDR_SECONDARIES", " ".join(addresses6[1:])


def _gateways(interface: Interface, nm: bool) -> list[Route]:
    """The default routes, one per IP version, that are written as a gateway of the interface."""
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
    """Foreign files that configure an interface, an alias or its routes; matched by DEVICE, port, parent and P_Key, or file name."""
    found = []
    for path, kind, named in _FOLDER.foreign(files):
        variables = assignments(files[path]) if kind == "ifcfg" else {}
        devices = {named, variables.get("DEVICE", named)}
        means = interface.name in {device.split(":", 1)[0] for device in devices} or ("DEVICE" not in variables and _means(interface, variables))
        if means and not _LEFTOVER.search(path):
            found.append(path)
    return tuple(found)


def without(interface: Identity, path: str, text: str) -> str | None:
    """A file belongs to one interface: nothing is left. Files for any interface stay."""
    kind, _dash, named = path.rpartition("/")[2].partition("-")
    if kind != "ifcfg":
        return "" if named == interface.name else None
    variables = assignments(text)
    device = variables.get("DEVICE", named if set(variables).isdisjoint(_IDENTITY) else "")
    if not device:
        return "" if set(variables) & _IDENTITY else None
    return "" if device.split(":", 1)[0] == interface.name else None


def unsaid(text: str) -> tuple[str, ...]:
    """Settings that the reader passes over, and that our file would not have."""
    return tuple("BONDING_OPTS ... %s" % word.partition("=")[0] for word in assignments(text).get("BONDING_OPTS", "").split() if not BOND_OPTION.match(word))


def _means(interface: Identity, variables: t.Mapping[str, str]) -> bool:
    """Whether a file without DEVICE applies to an interface: NetworkManager matches by the other keys; without any, all InfiniBand interfaces match."""
    parent, pkey, address = (variables.get(key, "") for key in ("PHYSDEV", "PKEY_ID", "HWADDR"))
    on_port = interface.is_at(address) if address else not parent
    if pkey or variables.get("PKEY", "").lower() in ("yes", "true", "1"):
        return interface.is_child(pkey) and (parent == interface.parent if parent else on_port)
    if parent or interface.pkey:
        return False
    return on_port and (bool(address) or variables.get("TYPE", "").lower() == "infiniband")
