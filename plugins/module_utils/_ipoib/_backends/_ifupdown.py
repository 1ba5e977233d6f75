# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ifupdown: the files that describe IPoIB interfaces. Pure.

Debian's ifupdown makes and deletes P_Key children itself: it writes to create_child of the parent, whose type it looks
at, when it brings up `PARENT.PKEY`. The mode it leaves to us.

Bonds are made with ip alone: the package ifenslave may be missing, and makes all of a bond from the stanza of either
side, in an order that has ports in it before their mode is set. Here a port enters its bond, if that is there, once it
has its mode; a bond first brings up its ports, then takes in those that are not in it. So the order does not matter, a
port may come late, and `ifdown` and `ifup` work on each of them.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import typing as t

from ..._host._files import HEADER
from .._found import Record, records_of
from .._identity import Identity
from .._wanted import Bond, Interface, version

MAIN = "/etc/network/interfaces"
DIRECTORY = "/etc/network/interfaces.d"
STATE = "/run/network/ifstate"
PREFIX = "rdma-"
SOURCE = "source %s/%s*" % (DIRECTORY, PREFIX)

# Lines that bring interfaces up, as `auto ib0=storage`, and those that name interfaces which another one takes.
_BRINGS = re.compile(r"^(auto|allow-\S+)$")
_TAKES = re.compile(r"^(auto|allow-\S+|mapping|(bond[-_])?(slaves|primary)|bridge[-_]ports)$")

# source-directory reads only files whose names are made of these.
_DIRECTORY_NAME = re.compile(r"^[a-zA-Z0-9_-]+$")
_OURS = re.compile(r"^%s/%s[^/]+$" % (re.escape(DIRECTORY), PREFIX))

# Where the HCA's driver is late, the interface is waited for, but not for long: what comes after it waits as well.
WAIT = "timeout 15 sh -c 'until [ -e /sys/class/net/$IFACE ]; do sleep 1; done'"

# Where IPv6 is switched off for all interfaces, this one needs it nevertheless. Nothing is written without need: in a
# container with IPv6 the file may be read-only.
IPV6_ON = "f=/proc/sys/net/ipv6/conf/$IFACE/disable_ipv6; grep -q 0 $f || echo 0 > $f"


def path_of(name: str) -> str:
    # No dot: source-directory would leave the file out.
    return "%s/%s%s" % (DIRECTORY, PREFIX, name.replace(".", "-"))


def is_ours(path: str, text: str) -> bool:
    return _OURS.match(path) is not None and text.startswith(HEADER)


def render(interfaces: t.Sequence[Interface]) -> dict[str, str]:
    """One file an interface, by path. `/etc/network/interfaces` is not ours: see `sourced`."""
    preferred = {each.bond.primary for each in interfaces if each.bond is not None}
    return {path_of(interface.name): _stanzas(interface, interface.name in preferred) for interface in interfaces}


def _stanzas(interface: Interface, primary: bool) -> str:
    lines = ["auto %s" % interface.name]
    if not interface.is_child and interface.bond is None:
        lines.append("allow-hotplug %s" % interface.name)
    # What concerns the link belongs to the first stanza, routes and the end of a bond to the last: ifup and ifdown both go
    # through them in this order.
    link = _bond(interface.bond) if interface.bond is not None else _port(interface, primary)
    last = ["up " + " ".join(["ip", route.family, "route", "replace", *route.words("$IFACE")]) for route in interface.routes]
    if interface.bond is not None:
        last.append("post-down [ ! -e /sys/class/net/$IFACE ] || ip link delete dev $IFACE")
    addresses = sorted(interface.addresses, key=version)
    if not addresses:
        mtu = ["mtu %d" % interface.mtu] if interface.mtu else []
        lines += ["", "iface %s inet manual" % interface.name, *_indented([*link, *mtu, "up ip link set dev $IFACE up", *last])]
    for position, address in enumerate(addresses):
        version6 = version(address) == 6
        options = ["address %s" % address]
        if position == 0:
            options += link
            if interface.mtu:
                # As an option of inet6 it would be the MTU of IPv6 alone where the link's is larger.
                options.append("pre-up ip link set dev $IFACE mtu %d" % interface.mtu if version6 else "mtu %d" % interface.mtu)
        if version6:
            options.append("pre-up " + IPV6_ON)
            # Without a carrier, which a subnet manager brings, duplicate address detection does not end.
            options.append("dad-attempts 0")
        if position == len(addresses) - 1:
            options += last
        lines += ["", "iface %s %s static" % (interface.name, "inet6" if version6 else "inet"), *_indented(options)]
    return HEADER + "\n".join(lines) + "\n"


def _port(interface: Interface, primary: bool) -> list[str]:
    lines = [] if interface.is_child else ["pre-up " + WAIT]
    if interface.mode == "connected":
        lines.append("pre-up echo connected > /sys/class/net/$IFACE/mode")
    if interface.master:
        # The kernel takes in no interface that is up.
        enter = "ip link set dev $IFACE down; ip link set dev $IFACE master %s" % interface.master
        prefer = "; ip link set dev %s type bond primary $IFACE" % interface.master if primary else ""
        lines.append("pre-up [ ! -e /sys/class/net/%s ] || [ -e /sys/class/net/$IFACE/master ] || { %s%s; }" % (interface.master, enter, prefer))
        lines.append("post-down [ ! -e /sys/class/net/$IFACE/master ] || ip link set dev $IFACE nomaster")
    return lines


def _bond(bond: Bond) -> list[str]:
    options = "type bond mode active-backup miimon %d fail_over_mac active" % bond.miimon
    # The second: where loading the module has just made a bond of this name, by its option max_bonds.
    lines = ["pre-up [ -e /sys/class/net/$IFACE ] || ip link add name $IFACE %s || ip link set dev $IFACE %s" % (options, options)]
    # ifup brings up the parent of a child first. A port that does not come up is taken in when it does.
    lines.append("pre-up ifup %s || true" % " ".join(bond.ports))
    enter = "ip link set dev $p down; ip link set dev $p master $IFACE"
    lines.append("pre-up for p in %s; do ! ifquery --state $p >/dev/null || [ -e /sys/class/net/$p/master ] || { %s; }; done" % (" ".join(bond.ports), enter))
    if bond.primary:
        lines.append("pre-up [ ! -e /sys/class/net/%s/master ] || ip link set dev $IFACE type bond primary %s" % (bond.primary, bond.primary))
    return lines


def _indented(lines: t.Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


def records(files: t.Mapping[str, str]) -> dict[str, Record]:
    return records_of(row for path, text in files.items() if is_ours(path, text) for row in _rows(text))


def _rows(text: str) -> t.Iterator[tuple[str, list[str], str]]:
    lines = [line.split() for line in text.splitlines()]
    addresses = [words[1] for words in lines if len(words) == 2 and words[0] == "address"]
    # `mtu 2044`, or `pre-up ip link set dev $IFACE mtu 2044`.
    mtus = [words[-1] for words in lines if words[-2:-1] == ["mtu"] and words[0] in ("mtu", "pre-up")]
    for name in configured(text):
        yield name, addresses, mtus[0] if mtus else ""


def configured(text: str) -> tuple[str, ...]:
    """The interfaces that have an iface stanza in a file, each once."""
    rows = (line.split() for line in text.splitlines())
    return tuple(sorted({words[1] for words in rows if len(words) > 1 and words[0] == "iface"}))


def conflicts(interface: Identity, files: t.Mapping[str, str]) -> tuple[str, ...]:
    """Foreign files among those that ifupdown reads which configure an interface: by a stanza of its own, or as a port of another one."""
    foreign = [path for path in sorted(files) if _is_read(path, files) and not is_ours(path, files[path])]
    return tuple(path for path in foreign if _configures(interface.name, files[path]))


def _configures(name: str, text: str) -> bool:
    """Words of it are patterns where they begin with a slash, and `ib0=storage` is the stanza of storage for ib0."""
    if name in configured(text):
        return True
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2 or not _TAKES.match(words[0]):
            continue
        brought = [word.rpartition("=")[0] for word in words[1:]] if _BRINGS.match(words[0]) else words[1:]
        if any(word == name or fnmatch.fnmatchcase(name, word.strip("/").split("/")[0]) for word in brought if word):
            return True
    return False


def own_names(files: t.Mapping[str, str]) -> tuple[str, ...]:
    """The interfaces that the administrator has given to ifupdown."""
    names = {name for path, text in files.items() if _is_read(path, files) and not is_ours(path, text) for name in configured(text)}
    return tuple(sorted(names))


def _is_read(path: str, files: t.Mapping[str, str]) -> bool:
    return path == MAIN or (posixpath.dirname(path) == DIRECTORY and _covers(files.get(MAIN, ""), path))


def _covers(main: str, path: str) -> bool:
    """Whether `/etc/network/interfaces` includes `path`."""
    for line in main.splitlines():
        words = line.split()
        if len(words) < 2:
            continue
        # Relative paths start at the directory of the file that names them.
        patterns = [posixpath.join(posixpath.dirname(MAIN), word) for word in words[1:]]
        if words[0] == "source" and any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns):
            return True
        if words[0] == "source-directory" and _DIRECTORY_NAME.match(posixpath.basename(path)):
            return any(fnmatch.fnmatchcase(posixpath.dirname(path), pattern.rstrip("/")) for pattern in patterns)
    return False


def sourced(main: str, paths: t.Collection[str]) -> str:
    """The text of `/etc/network/interfaces` with which all of `paths` are read; foreign lines stay as they are.

    Our line names our files only: what else lies in the directory may be there on purpose without being read.
    """
    lines = main.splitlines(keepends=True)
    if SOURCE + "\n" in lines or SOURCE in lines:
        if paths:
            return main
        return "".join(line for line in lines if line.rstrip("\n") != SOURCE)
    if all(_covers(main, path) for path in paths):
        return main
    if main and not main.endswith("\n"):
        main += "\n"
    return main + SOURCE + "\n"


def up_interfaces(state: str) -> dict[str, str]:
    """The interfaces that ifupdown has up, with the stanza that it took for each: `ib0=ib0` a line, as `ifquery --state` prints it.

    Where ifup failed, and where something else has set up the interface, there is no line.
    """
    rows = (line.partition("=") for line in state.splitlines())
    return {name.strip(): stanza.strip() for name, sign, stanza in rows if sign}
