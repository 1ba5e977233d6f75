# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""wicked, of SLES and openSUSE: the files that describe IPoIB interfaces. Pure.

wicked sets mode and MTU itself, and creates P_Key children through create_child. IPOIB_MODE marks a file as IPoIB
for every release, whatever the name of the interface. IPOIB, IPOIB_DEVICE and IPOIB_PKEY are known since 0.6.76;
earlier releases derive parent and P_Key from the name PARENT.PKEY.
"""

from __future__ import annotations

import ipaddress
import re
import typing as t

from ..._host._files import HEADER
from ..._host._sourced import assignments
from .._found import Record
from .._identity import Identity
from .._wanted import Interface, Route
from ._assignments import BOND_OPTION, Folder

DIRECTORY = "/etc/sysconfig/network"
SHARED_ROUTES = DIRECTORY + "/routes"

# ifcfg-NAME describes an interface, ifroute-NAME its routes, and ifsysctl-NAME its kernel settings.
KINDS = ("ifcfg", "ifroute", "ifsysctl")
_FOLDER = Folder(DIRECTORY, KINDS)
PATTERNS = (*_FOLDER.patterns, SHARED_ROUTES)
path_of, is_ours, own_files = _FOLDER.path_of, _FOLDER.is_ours, _FOLDER.own_files
# The start modes with which an interface is up from boot on.
_STARTED = ("auto", "boot", "onboot", "on", "hotplug")
# Files that wicked does not read, according to ifcfg(5).
_LEFTOVER = re.compile(r"(~|\.(old|bak|orig|scpmbackup|rpmnew|rpmsave|rpmorig))$")


def render(interfaces: t.Sequence[Interface]) -> dict[str, str]:
    files: dict[str, str] = {}
    for interface in interfaces:
        files.update(_FOLDER.described(interface.name, _ifcfg(interface)))
        if not interface.master:
            # Only the declared addresses: none from router advertisements, which BOOTPROTO does not cover.
            # Slashes, because names of children contain a dot.
            files[path_of(interface.name, "ifsysctl")] = HEADER + "net/ipv6/conf/%s/accept_ra = 0\n" % interface.name
        if interface.routes:
            files[path_of(interface.name, "ifroute")] = HEADER + "".join(_route(route, interface.name) + "\n" for route in interface.routes)
    return files


def _ifcfg(interface: Interface) -> t.Iterator[tuple[str, str]]:
    # A port belongs to its bond, which waits for its ports, holds their IP configuration and sets their MTU.
    yield "STARTMODE", "hotplug" if interface.master else "auto"
    yield "BOOTPROTO", "none" if interface.master else "static"
    if interface.bond:
        yield "BONDING_MASTER", "yes"
        yield from (("BONDING_SLAVE_%d" % position, port) for position, port in enumerate(interface.bond.ports))
        yield "BONDING_MODULE_OPTS", " ".join(interface.bond.options)
    else:
        yield "IPOIB", "yes"
        yield "IPOIB_MODE", interface.mode
    if interface.is_child:
        yield "IPOIB_DEVICE", interface.parent
        yield "IPOIB_PKEY", "%04x" % interface.pkey
    if interface.mtu:
        yield "MTU", str(interface.mtu)
    if interface.master:
        return
    # The carrier of IPoIB depends on the subnet manager: an address must not wait for it.
    yield "LINK_REQUIRED", "no"
    for position, address in enumerate(interface.addresses):
        yield "IPADDR_%d" % position, str(ipaddress.ip_interface(address))


def _route(route: Route, name: str) -> str:
    """One line: destination, gateway, netmask (obsolete), interface, options. `default` has no IP version without a gateway."""
    default = ipaddress.ip_network(route.to, strict=False).prefixlen == 0
    columns = ["default" if default and route.via else route.to, route.via or "-", "-", name]
    return " ".join([*columns, *(["metric", str(route.metric)] if route.metric else [])])


def records(files: t.Mapping[str, str]) -> dict[str, Record]:
    return _FOLDER.records(files, lambda variables: [value for key, value in variables.items() if re.match(r"^IPADDR_\d+$", key)])


def conflicts(interface: Identity, files: t.Mapping[str, str]) -> tuple[str, ...]:
    """Foreign files of the interface, foreign bonds that have it as a port, and the shared routes file if it names the interface."""
    name = interface.name
    found = []
    for path, kind, named in _FOLDER.foreign(files):
        ports = {value for key, value in assignments(files[path]).items() if key.startswith("BONDING_SLAVE")} if kind == "ifcfg" else set()
        if (named == name or name in ports) and not _LEFTOVER.search(path):
            found.append(path)
    if any(_is_route_of(name, line) for line in files.get(SHARED_ROUTES, "").splitlines()):
        found.append(SHARED_ROUTES)
    return tuple(found)


def without(interface: Identity, path: str, text: str) -> str | None:
    """A file belongs to one interface: nothing is left. The file of all routes keeps those of others; files of other bonds stay."""
    if path == SHARED_ROUTES:
        rest = "".join(line for line in text.splitlines(keepends=True) if not _is_route_of(interface.name, line))
        return None if rest == text else rest if rest.strip() else ""
    return "" if path.rpartition("/")[2].partition("-")[2] == interface.name else None


def _is_route_of(name: str, line: str) -> bool:
    return line.split()[3:4] == [name] and not line.lstrip().startswith("#")


def unsaid(path: str, text: str, names: t.Container[str]) -> tuple[str, ...]:
    """Settings that the reader passes over, and that our files for the interface would not have."""
    kind, _dash, name = path.rpartition("/")[2].partition("-")
    lines = list(enumerate(text.splitlines(), 1))
    if kind == "ifsysctl":
        settings = [(number, line.strip()) for number, line in lines if line.strip() and line.strip()[0] not in "#;"]
        found = [(line.split("=")[0].strip(), number) for number, line in settings if not _is_ours_sysctl(name, line)]
    elif kind == "ifroute":
        found = [("route of %s" % line.split()[3], number) for number, line in lines if line.split("#")[0].split()[3:4] not in ([], ["-"], [name])]
    else:
        said = [(key, value, number) for number, line in lines for key, value in assignments(line).items()]
        found = [(key, number) for key, value, number in said if kind == "ifcfg" and value and _is_lost(key, value, names)]
    return tuple("%s (line %d)" % each for each in found)


def _is_ours_sysctl(name: str, line: str) -> bool:
    key, _sign, value = line.partition("=")
    return key.strip().replace("/", ".") in ("net.ipv6.conf.%s.accept_ra" % name, "net.ipv6.conf.$INTERFACE.accept_ra") and value.strip() == "0"


def _is_lost(key: str, value: str, names: t.Container[str]) -> bool:
    if key.startswith("BONDING_SLAVE"):
        return value not in names
    if key == "BONDING_MODULE_OPTS":
        return not all(BOND_OPTION.match(word) for word in value.split())
    if key == "STARTMODE":
        return value.lower() not in _STARTED
    if key in ("USERCONTROL", "FIREWALL", "BRIDGE"):
        return value.lower() not in ("no", "false", "0")
    return key == "ETHTOOL_OPTIONS" or key.startswith("REMOTE_IPADDR")
