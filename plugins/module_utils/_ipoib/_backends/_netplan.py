# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""netplan: one file of ours for what netplan supports, plus files for its renderer for the rest. Pure.

netplan supports no P_Key children, and its bonds accept no ports that it doesn't know. Therefore children, bonds with a
child among their ports, and all ports of such bonds are written for the renderer: systemd-networkd or NetworkManager.

Notes for the code that applies these files:

* netplan warns about a file that others can read: the mode is `MODE`, the owner root.
* `netplan generate` reads everything and writes only below `/run`: it serves as the check before the files are applied, and is
  the only parser that is always installed. `conflicts` reads foreign files without a parser, see there.
* systemd-networkd 252 takes no mode from what netplan writes: the boot unit (_boot.py) sets the mode, and the MTU as well.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import posixpath
import re
import typing as t

from ..._errors import Problem
from ..._host._files import HEADER
from .._found import Place, Record, records_of
from .._identity import Identity
from .._wanted import Bond, Interface, Route
from . import _netplan_foreign, _networkd, _networkmanager

DIRECTORY = "/etc/netplan"
DIRECTORIES = (DIRECTORY, "/run/netplan", "/lib/netplan", "/usr/lib/netplan")
PATH = DIRECTORY + "/90-rdma-ofed.yaml"
MODE = 0o600

NETWORKD = "networkd"
NETWORKMANAGER = "NetworkManager"

# Files that netplan generates. They repeat what the YAML files say.
_GENERATED = re.compile(r"^/run/(systemd/network/10-netplan-|NetworkManager/system-connections/netplan-)")
_DROPIN = "/etc/systemd/network/10-netplan-%s.network.d/50-rdma-ofed.conf"
# The indentation in our file of interface names and of the keys of an interface.
_NAMES, _KEYS = 4, 6
_DROPIN_PATH = re.compile("^" + re.escape(_DROPIN).replace("%s", "[^/]+") + "$")


def is_ours(path: str, text: str) -> bool:
    return (path == PATH or _DROPIN_PATH.match(path) is not None) and text.startswith(HEADER)


def outside(interfaces: t.Sequence[Interface]) -> frozenset[str]:
    """The interfaces that netplan can't describe."""
    children = {interface.name for interface in interfaces if interface.is_child}
    found = set(children)
    for interface in interfaces:
        if interface.bond is not None and children.intersection(interface.bond.ports):
            found.update((interface.name, *interface.bond.ports))
    return frozenset(found)


def problems(interfaces: t.Sequence[Interface], renderer: str = NETWORKD, infiniband_mode: bool = True) -> list[Problem]:
    """What netplan or its renderer can't do with these interfaces. `infiniband_mode`: whether netplan supports it; older releases refuse the whole file."""
    if renderer == NETWORKD:
        return []
    found = _networkmanager.problems(interfaces)
    inside = [interface.name for interface in interfaces if interface.name not in outside(interfaces)]
    if inside and not infiniband_mode:
        hint = "older ones make Ethernet profiles of InfiniBand interfaces; update netplan, or use its renderer networkd"
        found.append(Problem("netplan of %s" % ", ".join(inside), "a release before 0.105", "0.105 or newer with the renderer NetworkManager", hint))
    return found


def render(interfaces: t.Sequence[Interface], renderer: str = NETWORKD, infiniband_mode: bool = True) -> dict[str, str]:
    """The YAML file and the files of the renderer, by path."""
    beyond = outside(interfaces)
    inside = [interface for interface in interfaces if interface.name not in beyond]
    files = {PATH: _yaml(inside, renderer, infiniband_mode)} if inside else {}
    rest = [interface for interface in interfaces if interface.name in beyond]
    if renderer == NETWORKMANAGER:
        files.update(_networkmanager.render(rest))
        files.update(_networkmanager.carrier_file(interface.name for interface in interfaces))
        return files
    files.update(_networkd.render(rest))
    for interface in inside:
        lines = ["IPoIB=%s\n" % child for child in sorted(other.name for other in rest if other.parent == interface.name)]
        # ignore-carrier came with 0.104, the last release without infiniband-mode. 0.104 can't be told from older releases, which refuse the key.
        lines = lines if infiniband_mode else ["ConfigureWithoutCarrier=yes\n", *lines]
        if lines:
            files[_DROPIN % interface.name] = HEADER + "[Network]\n" + "".join(lines)
    return files


def _yaml(interfaces: t.Sequence[Interface], renderer: str, infiniband_mode: bool) -> str:
    """The YAML file. Strings are written as JSON strings, which YAML accepts: a name such as `1e3` stays a string."""
    lines = ["network:", "  version: 2"]
    for kind, chosen in (("ethernets", [each for each in interfaces if each.bond is None]), ("bonds", [each for each in interfaces if each.bond is not None])):
        if chosen:
            lines.append("  %s:" % kind)
        for interface in chosen:
            lines.append("    %s:" % json.dumps(interface.name))
            lines += ["      " + line for line in _interface(interface, renderer, infiniband_mode)]
    return HEADER + "\n".join(lines) + "\n"


def _interface(interface: Interface, renderer: str, infiniband_mode: bool) -> list[str]:
    # Set the renderer per interface: a global renderer would affect all interfaces.
    lines = ["renderer: %s" % renderer]
    if interface.bond is not None:
        lines += _bond(interface.bond)
        if renderer == NETWORKMANAGER:
            # Otherwise a port that was activated on its own would stay outside the bond.
            lines += ["networkmanager:", "  passthrough:", '    connection.autoconnect-slaves: "1"']
    elif infiniband_mode:
        lines.append("infiniband-mode: %s" % interface.mode)
    # networkd can't set the MTU of connected mode on an interface on which it can't set the mode.
    if interface.mtu and (renderer == NETWORKMANAGER or interface.mode == "datagram" or interface.bond is not None):
        lines.append("mtu: %d" % interface.mtu)
    lines += ["optional: true", "accept-ra: false"]
    if renderer == NETWORKD and infiniband_mode:
        lines.append("ignore-carrier: true")
    if interface.master or not interface.addresses:
        lines.append("link-local: []")
    if interface.addresses:
        lines += ["addresses:", *("- %s" % json.dumps(address) for address in interface.addresses)]
    if interface.routes:
        lines += ["routes:", *(line for route in interface.routes for line in _route(route))]
    return lines


def _bond(bond: Bond) -> list[str]:
    lines = ["interfaces:", *("- %s" % json.dumps(port) for port in bond.ports), "parameters:", "  mode: active-backup"]
    lines += ["  mii-monitor-interval: %d" % bond.miimon, "  fail-over-mac-policy: active"]
    return [*lines, "  primary: %s" % json.dumps(bond.primary)] if bond.primary else lines


def _route(route: Route) -> list[str]:
    lines = ["- to: %s" % json.dumps(route.to), "  via: %s" % json.dumps(route.via) if route.via else "  scope: link"]
    return [*lines, "  metric: %d" % route.metric] if route.metric else lines


def records(files: t.Mapping[str, str]) -> dict[str, Record]:
    """The records of our YAML file. Files for the renderer are covered by its own back-end and the boot unit."""
    text = files.get(PATH, "")
    if not is_ours(PATH, text):
        return {}
    return records_of(_rows(text))


def _rows(text: str) -> t.Iterator[tuple[str, list[str], str]]:
    """The interfaces with their addresses and MTUs, from a file with our indentation; quoting may differ, and comments are allowed."""
    addresses: list[str] = []
    name = mtu = key = ""
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(" "))
        words = _scalars(line)
        if not words:
            continue
        if depth < _KEYS:
            if name:
                yield name, addresses, mtu
            name, addresses, mtu, key = words[0] if depth == _NAMES else "", [], "", ""
        elif depth == _KEYS and words[0] != "-":
            key = words[0]
            mtu = words[1] if key == "mtu" and len(words) > 1 else mtu
        if key == "addresses":
            # Routes and ports are list items as well.
            addresses += [word for word in words if "/" in word]
    if name:
        yield name, addresses, mtu


def _scalars(line: str) -> list[str]:
    """The words of a line, without its comment, without quotes and punctuation around them."""
    words = itertools.takewhile(lambda word: not word.startswith("#"), line.split())
    return [word.lstrip("[{\"'").rstrip("]},:\"'") for word in words]


def conflicts(interface: Identity, files: t.Mapping[str, str]) -> tuple[str, ...]:
    """Foreign YAML files that mention an interface, and foreign files of the renderers that configure it, except those that netplan generates.

    PyYAML may be missing, so the files are not parsed: a file mentions an interface if its name is a word anywhere outside
    of comments, if a `name:` of a `match:` covers it, or if a hardware address is that of its port. This errs on the side of
    conflicts.
    """
    found = [path for path, text in sorted(files.items()) if is_yaml(path) and not is_ours(path, text) and _speaks_of(interface, text)]
    others = {path: text for path, text in files.items() if not _GENERATED.match(path)}
    return (*found, *_networkd.conflicts(interface, others, _generated(interface, files)), *_networkmanager.conflicts(interface, others))


def without(interface: Identity, path: str, text: str) -> str | None:
    """The text without the interface. Files of packages and of generators stay, as do the administrator's files for the renderer."""
    return _netplan_foreign.without(interface, text) if posixpath.dirname(path) == DIRECTORY and is_yaml(path) else None


def unsaid(interface: Identity, path: str, files: t.Mapping[str, str], *, names: t.Mapping[str, str], renderer: str) -> tuple[str, ...]:
    """Settings that would be lost with the interface. An ID other than its name may occur elsewhere, and be that of drop-ins of the generated file."""
    text = files.get(path, "")
    found = _netplan_foreign.unsaid(interface, text, names, renderer=renderer)
    usual = _netplan_foreign.selected(files[each] for each in sorted(own_files(files), key=posixpath.basename)) or NETWORKD
    if usual != renderer and not all(each.renderer for each in _netplan_foreign.definitions(interface, text)):
        found.append("renderer %s, which netplan's files select" % usual)
    rest = {**files, path: without(interface, path, text) or ""}
    for each in _netplan_foreign.definitions(interface, text):
        if each.key != interface.name:
            found += ["ID %s (line %d), which %s mentions" % (each.key, each.line, other) for other in _mentions(each.key, rest)]
    return tuple(found)


def _mentions(key: str, files: t.Mapping[str, str]) -> list[str]:
    """The files that mention an ID of netplan."""
    drop_ins = re.compile(r"/10-netplan-%s\.(network|netdev|link)\.d/" % re.escape(key))
    return [path for path, text in sorted(files.items()) if drop_ins.search(path) or (is_yaml(path) and _speaks_of(Identity(key), text))]


def aloof(interface: Identity, files: t.Mapping[str, str]) -> tuple[Place, ...]:
    """Where a file not generated by netplan tells networkd, as the renderer, to leave an interface alone."""
    others = {path: text for path, text in files.items() if not _GENERATED.match(path)}
    return _networkd.aloof(interface, others, _generated(interface, files))


def _generated(interface: Identity, files: t.Mapping[str, str]) -> str:
    """The file that the renderer uses for an interface of our YAML file."""
    return "10-netplan-%s.network" % interface.name if interface.name in records(files) else ""


def is_yaml(path: str) -> bool:
    """Whether netplan reads a file."""
    return path.rpartition("/")[0] in DIRECTORIES and path.endswith(".yaml")


def _speaks_of(interface: Identity, text: str) -> bool:
    name = interface.name
    bare = "\n".join(re.sub(r"(^|\s)#.*$", "", line) for line in text.splitlines())
    # Characters of names do not end a word: "ib0" is no word of "ib0.8001".
    if re.search(r"(?<![\w.-])%s(?![\w.-])" % re.escape(name), bare):
        return True
    if interface.tail and not interface.pkey and re.search(r"(:[0-9a-f]{2}){4}:%s\b" % interface.tail, bare.lower()):
        return True
    patterns = re.findall(r"\bname\"?\s*:\s*[\"']?([^\"'\s,}]+)", bare)
    drivers = [word for words in re.findall(r"\bdriver\"?\s*:\s*(\[[^\]]*\]|[^\s,}]+)", bare) for word in re.split(r"[\s,\"'\[\]]+", words) if word]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns) or any(
        fnmatch.fnmatchcase(driver, pattern) for driver in interface.drivers for pattern in drivers
    )


def own_files(paths: t.Iterable[str]) -> tuple[str, ...]:
    """The administrator's YAML files among `paths`: the sign that netplan is in use here."""
    return tuple(sorted(path for path in paths if is_yaml(path) and path != PATH))
