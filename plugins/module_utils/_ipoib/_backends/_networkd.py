# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""systemd-networkd: the files that describe IPoIB interfaces. Pure.

networkd 252 ignores `[IPoIB]` in .network files, so the mode of a parent comes from a unit of our own (_boot.py),
which also sets its MTU: networkd can't set 65520 before the mode is connected. networkd creates a child with
its mode.

When a port joins a bond, the kernel gives it the MTU of the bond, and refuses a port that can't have that MTU: a port to
be connected must be in connected mode by then. networkd waits for an interface until udev has it in its database, and a
rule of ours sets the mode before that (_boot.py). The code that applies these files changes the MTU of an existing bond,
because networkd changes no existing bond. A deleted bond comes back with `networkctl reload`, but without its
ports, even if they are reconfigured (observed with 252): that takes a restart of networkd.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import typing as t

from ..._host._files import HEADER
from .._found import Place, Record
from .._identity import Identity
from .._wanted import Interface, Route
from ._assignments import Assignment, assigned, effective, recorded, sections

DIRECTORY = "/etc/systemd/network"
DIRECTORIES = (DIRECTORY, "/run/systemd/network", "/usr/local/lib/systemd/network", "/usr/lib/systemd/network", "/lib/systemd/network")
PREFIX = "50-rdma-"

# RFC 4390: a request over IPoIB has no hardware address, so it needs a client identifier (as in RFC 4361, from /etc/machine-id), and an answer by broadcast.
# Nothing but the address is taken: names, routes and time of a node come from elsewhere.
LEASE: t.Mapping[str, str] = {
    "ClientIdentifier": "duid",
    "RequestBroadcast": "yes",
    "UseDNS": "no",
    "UseDomains": "no",
    "UseHostname": "no",
    "UseNTP": "no",
    "UseRoutes": "no",
}

_OURS = re.compile(r"^%s/%s(?P<name>[^/]+)\.(network|netdev)$" % (re.escape(DIRECTORY), PREFIX))
_ADDRESSES = ("MACAddress", "PermanentMACAddress")
# Conditions of [Match] on the node itself. The files do not tell whether they hold.
_CONDITIONS = {"Host", "Virtualization", "KernelCommandLine", "KernelVersion", "Architecture", "Credential", "Firmware"}
_TRUE = ("1", "yes", "y", "true", "t", "on")
# Names that no IPoIB interface has: a pattern that covers one of them, and names no type, is meant for all interfaces.
_ELSEWHERE = ("eth0", "eno1", "enp1s0")


def path_of(name: str, suffix: str) -> str:
    return "%s/%s%s.%s" % (DIRECTORY, PREFIX, name, suffix)


def is_ours(path: str, text: str) -> bool:
    return _OURS.match(path) is not None and text.startswith(HEADER)


def is_of(name: str, path: str) -> bool:
    """Whether networkd uses a file of this collection for the interface, or a file generated from one by a back-end that renders through networkd."""
    return path == path_of(name, "network") or (posixpath.dirname(path) == "/run/systemd/network" and path.endswith("-%s.network" % name))


def render(interfaces: t.Sequence[Interface]) -> dict[str, str]:
    """The .network file of every interface and the .netdev file of every child and bond, by path."""
    files: dict[str, str] = {}
    preferred = {each.bond.primary for each in interfaces if each.bond is not None}
    for interface in interfaces:
        children = sorted(other.name for other in interfaces if other.parent == interface.name)
        files[path_of(interface.name, "network")] = _network(interface, children, interface.name in preferred)
        if interface.bond is not None:
            settings = ["", "[Bond]", "Mode=active-backup", "MIIMonitorSec=%dms" % interface.bond.miimon, "FailOverMACPolicy=active"]
            files[path_of(interface.name, "netdev")] = _netdev(interface.name, "bond", settings)
        elif interface.is_child:
            # Otherwise networkd generates a hardware address: its GUID is no port's, and no other node finds a path to it.
            settings = ["MACAddress=none", "", "[IPoIB]", "PartitionKey=0x%04x" % interface.pkey, "Mode=%s" % interface.mode]
            files[path_of(interface.name, "netdev")] = _netdev(interface.name, "ipoib", settings)
    return files


def _network(interface: Interface, children: t.Sequence[str], primary: bool) -> str:
    lines = ["[Match]", "Name=%s" % interface.name, "", "[Link]", "RequiredForOnline=no"]
    if interface.mtu and (interface.is_child or interface.bond is not None or interface.mode == "datagram"):
        lines.append("MTUBytes=%d" % interface.mtu)
    # The carrier of IPoIB depends on the subnet manager: an address must not wait for it.
    # Only the declared addresses: none from router advertisements.
    lines += ["", "[Network]", "ConfigureWithoutCarrier=yes", "IPv6AcceptRA=no"]
    if interface.master:
        lines += ["LinkLocalAddressing=no", "Bond=%s" % interface.master]
        lines += ["PrimarySlave=yes"] if primary else []
    lines += ["IPoIB=%s" % child for child in children]
    lines += ["Address=%s" % address for address in interface.addresses]
    if interface.dhcp:
        lines += ["DHCP=ipv4", "", "[DHCPv4]", *("%s=%s" % each for each in LEASE.items())]
    for route in interface.routes:
        lines += _route(route)
    return HEADER + "\n".join(lines) + "\n"


def _route(route: Route) -> list[str]:
    lines = ["", "[Route]", "Destination=%s" % route.to]
    lines += ["Gateway=%s" % route.via] if route.via else []
    lines += ["Metric=%d" % route.metric] if route.metric else []
    return lines


def _netdev(name: str, kind: str, settings: t.Sequence[str]) -> str:
    return HEADER + "\n".join(["[NetDev]", "Name=%s" % name, "Kind=%s" % kind, *settings]) + "\n"


def records(files: t.Mapping[str, str]) -> dict[str, Record]:
    """The records of our .network files. The record of a connected parent's MTU is in the boot unit."""
    ours = {posixpath.basename(path): text for path, text in files.items() if path.endswith(".network") and is_ours(path, text)}
    texts = {name[len(PREFIX) : -len(".network")]: text for name, text in ours.items()}
    return recorded(texts, r"Network\.Address$", r"Link\.MTUBytes$")


def conflicts(interface: Identity, files: t.Mapping[str, str], wanted: str = "") -> tuple[str, ...]:
    """Foreign .network files for the interface, and those for all interfaces that sort before ours.

    networkd uses the first file that matches, in the order of file names, whatever their directories. A later file for the interface
    would have no effect. `wanted`: the name of the file that is to take effect, if it is not ours.
    """
    return tuple(path for path in _applying(interface, files, wanted) if _unmanaged(files[path]) is None)


def aloof(interface: Identity, files: t.Mapping[str, str], wanted: str = "") -> tuple[Place, ...]:
    """Where foreign files that sort before ours set `Unmanaged=yes` for the interface."""
    found = [(path, _unmanaged(files[path])) for path in _applying(interface, files, wanted)]
    return tuple(Place(path, line.line, line.words) for path, line in found if line is not None)


def _unmanaged(text: str) -> Assignment | None:
    lines = [each for each in assigned(text) if each.section == "Link" and each.key == "Unmanaged"]
    return lines[-1] if lines and lines[-1].value.lower() in _TRUE else None


def _applying(interface: Identity, files: t.Mapping[str, str], wanted: str) -> t.Iterator[str]:
    """Foreign files as in `conflicts`, whatever they contain."""
    for path in effective(files, DIRECTORIES, ".network"):
        match: dict[str, list[str]] = {}
        for key, value in sections(files[path]).get("Match", []):
            match.setdefault(key, []).extend(value.split())
        if not match or is_ours(path, files[path]) or set(match) & _CONDITIONS:
            continue
        ahead = posixpath.basename(path) <= (wanted or "%s%s.network" % (PREFIX, interface.name))
        if all(_meets(interface, key, words) for key, words in match.items()) and (ahead or not _is_for_all(interface, match)):
            yield path


def _is_for_all(interface: Identity, match: t.Mapping[str, t.Sequence[str]]) -> bool:
    """Whether a file that applies to the interface is meant for all interfaces."""
    names = match.get("Name", ())
    return set(match) == {"Name"} and any(_matches(other, names) for other in _ELSEWHERE) and interface.name not in names


def _meets(interface: Identity, key: str, words: t.Sequence[str]) -> bool:
    """Whether one key of [Match] covers the interface. No IPoIB interface has a value for keys that are not listed, such as SSID=."""
    if key == "Name":
        return _matches(interface.name, words)
    if key == "Type":
        # A bond has the type of its first port.
        return _matches("infiniband", words) or (interface.kind == "bond" and _matches("bond", words))
    if key in _ADDRESSES:
        return not interface.pkey and any(interface.is_at(word) for word in words)
    if key == "Path":
        return _any(interface.is_on, words) if interface.pci else False
    if key == "Driver":
        return any(_matches(driver, words) for driver in interface.drivers)
    if key == "Kind":
        return _matches("ipoib" if interface.pkey else interface.kind, words)
    if key == "Property":
        return all(_has_property(interface, word) for word in words)
    return False


def _any(test: t.Callable[[str], bool], patterns: t.Sequence[str]) -> bool:
    """Like `_matches`, for a value that has several spellings."""
    if patterns[:1] and patterns[0].startswith("!"):
        return not any(test(pattern.lstrip("!")) for pattern in patterns)
    return any(test(pattern) for pattern in patterns)


def _has_property(interface: Identity, word: str) -> bool:
    """Whether a udev property that identifies the interface has this value."""
    key, _sign, value = word.strip('"').partition("=")
    if key == "ID_PATH":
        return interface.is_on(value)
    return value in interface.drivers if key == "ID_NET_DRIVER" else False


def _matches(word: str, patterns: t.Sequence[str]) -> bool:
    """Match a systemd pattern list: an empty list accepts everything, a leading `!` inverts the whole list."""
    if not patterns:
        return True
    if patterns[0].startswith("!"):
        return not any(fnmatch.fnmatchcase(word, pattern.lstrip("!")) for pattern in patterns)
    return any(fnmatch.fnmatchcase(word, pattern) for pattern in patterns)


def without(interface: Identity, path: str, text: str) -> str | None:
    """The text without the interface. Files of packages and of generators stay, as do files that match by a pattern or by the kind of an interface."""
    if posixpath.dirname(path) != DIRECTORY:
        return None
    if path.endswith(".netdev"):
        return ""
    matches = [each for each in assigned(text) if each.section == "Match"]
    names = [word for each in matches if each.key == "Name" for word in each.value.split()]
    places = [word for each in matches if each.key in _ADDRESSES for word in each.value.split()]
    if {each.key for each in matches} - {"Name", *_ADDRESSES} or any(set(word) & set("*?[!") for word in names):
        return None
    if names in ([], [interface.name]):
        return "" if len(places) == 1 or (names and not places) else None
    return None if places else _without_word(text, [each.line for each in matches if each.key == "Name"], interface.name)


def _without_word(text: str, numbers: t.Collection[int], word: str) -> str:
    """Remove one word of the value of assignments, and assignments of which nothing is left."""
    kept = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if number not in numbers:
            kept.append(line)
            continue
        key, _sign, value = line.partition("=")
        words = [each for each in value.split() if each != word]
        kept += ["%s=%s\n" % (key, " ".join(words))] if words else []
    return "".join(kept)


def unsaid(text: str, names: t.Container[str]) -> tuple[str, ...]:
    """Settings that the reader passes over, and that our file for the interface would not have: other interfaces are declared, or would be lost."""
    usual = {"BindCarrier": (), "LinkLocalAddressing": ("ipv6",)}
    found = []
    for each in assigned(text):
        lost = each.value not in usual[each.key] if each.key in usual else each.key in ("IPoIB", "Bond") and each.value not in names
        found += ["%s.%s (line %d)" % (each.section, each.key, each.line)] if lost and each.section == "Network" and each.value else []
    return tuple(found)


def devices(interface: Identity, files: t.Mapping[str, str]) -> tuple[str, ...]:
    """The foreign .netdev files that create the interface."""
    found = (path for path in effective(files, (DIRECTORY,), ".netdev") if not is_ours(path, files[path]))
    return tuple(path for path in found if ("Name", interface.name) in sections(files[path]).get("NetDev", ()))


def own_files(files: t.Mapping[str, str]) -> tuple[str, ...]:
    """The administrator's .network files: the sign that networkd is in use. Empty files, which mask others, and `Unmanaged=yes` do not count."""
    own = (path for path in files if path.startswith(DIRECTORY + "/") and path.endswith(".network") and not _OURS.match(path))
    return tuple(sorted(path for path in own if files[path].strip() and _unmanaged(files[path]) is None))
