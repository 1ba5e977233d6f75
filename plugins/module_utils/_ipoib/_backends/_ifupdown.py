# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ifupdown: the files that describe IPoIB interfaces. Pure.

Debian's ifupdown creates and deletes P_Key children itself: when it brings up `PARENT.PKEY`, it checks the type of the parent
and writes to its create_child. It leaves the mode to us.

Bonds use only ip: the package ifenslave may be missing, and creates the whole bond from the stanza of either side, in an
order that adds ports before their mode is set. Here a port joins its bond, if that exists, once the port has
its mode; a bond first brings up its ports, then adds those that have not joined. So the order does not matter, a
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

# The first word of a line that begins a stanza.
BEGINS = re.compile(r"(iface|auto|allow-\S+|mapping|source|source-directory|no-auto-down|no-scripts|template|rename)$")
# Lines that bring up interfaces, as `auto ib0=storage`, and lines that name interfaces used by another one.
_BRINGS = re.compile(r"^(auto|allow-\S+)$")
_TAKES = re.compile(r"^(auto|allow-\S+|mapping|(bond[-_])?(slaves|primary)|bridge[-_]ports)$")

# source-directory reads only files with these characters in their names.
_DIRECTORY_NAME = re.compile(r"^[a-zA-Z0-9_-]+$")
_OURS = re.compile(r"^%s/%s[^/]+$" % (re.escape(DIRECTORY), PREFIX))

# Wait for an interface whose HCA driver loads late, but not long: the interfaces after it wait as well.
WAIT = "timeout 15 sh -c 'until [ -e /sys/class/net/$IFACE ]; do sleep 1; done'"

# Where IPv6 is disabled for all interfaces, this one still needs it. The file is written only if necessary: in a container with
# IPv6 it may be read-only.
IPV6_ON = "f=/proc/sys/net/ipv6/conf/$IFACE/disable_ipv6; grep -q 0 $f || echo 0 > $f"


def path_of(name: str) -> str:
    # No dot: source-directory would skip the file.
    return "%s/%s%s" % (DIRECTORY, PREFIX, name.replace(".", "-"))


def is_ours(path: str, text: str) -> bool:
    return _OURS.match(path) is not None and text.startswith(HEADER)


def render(interfaces: t.Sequence[Interface]) -> dict[str, str]:
    """One file per interface, by path. `/etc/network/interfaces` is not ours: see `sourced`."""
    preferred = {each.bond.primary for each in interfaces if each.bond is not None}
    return {path_of(interface.name): _stanzas(interface, interface.name in preferred) for interface in interfaces}


def _stanzas(interface: Interface, primary: bool) -> str:
    lines = ["auto %s" % interface.name]
    if not interface.is_child and interface.bond is None:
        lines.append("allow-hotplug %s" % interface.name)
    # Link options belong to the first stanza, routes and the end of a bond to the last one: both ifup and ifdown process the
    # stanzas in this order.
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
                # As an option of inet6, mtu would set only the IPv6 MTU if the MTU of the link is larger.
                options.append("pre-up ip link set dev $IFACE mtu %d" % interface.mtu if version6 else "mtu %d" % interface.mtu)
        if version6:
            options.append("pre-up " + IPV6_ON)
            # Without a carrier, which a subnet manager provides, duplicate address detection does not end.
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
        # The kernel enslaves no interface that is up.
        enter = "ip link set dev $IFACE down; ip link set dev $IFACE master %s" % interface.master
        prefer = "; ip link set dev %s type bond primary $IFACE" % interface.master if primary else ""
        lines.append("pre-up [ ! -e /sys/class/net/%s ] || [ -e /sys/class/net/$IFACE/master ] || { %s%s; }" % (interface.master, enter, prefer))
        lines.append("post-down [ ! -e /sys/class/net/$IFACE/master ] || ip link set dev $IFACE nomaster")
    return lines


def _bond(bond: Bond) -> list[str]:
    options = "type bond mode active-backup miimon %d fail_over_mac active" % bond.miimon
    # The alternative covers a bond of this name that loading the module has just created, because of its option max_bonds.
    lines = ["pre-up [ -e /sys/class/net/$IFACE ] || ip link add name $IFACE %s || ip link set dev $IFACE %s" % (options, options)]
    # ifup brings up the parent of a child first. A port that can't be brought up now joins when it comes up.
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
    """Foreign files read by ifupdown that configure an interface: with a stanza of its own, or as a port of another interface."""
    foreign = [path for path in sorted(files) if _is_read(path, files) and not is_ours(path, files[path])]
    return tuple(path for path in foreign if _configures(interface.name, files[path]))


def _configures(name: str, text: str) -> bool:
    """Whether a text configures an interface. Words that begin with a slash are patterns; `ib0=storage` uses the stanza storage for ib0."""
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


def without(interface: Identity, path: str, text: str) -> str | None:
    """The text without the stanzas of the interface and without its name in lines such as `auto ib0 ib1`. A file of the folder with nothing else goes.

    Comments stay, except within a stanza.
    """
    kept: list[str] = []
    aside: list[str] = []
    inside = continued = False
    for line in text.splitlines(keepends=True):
        words = line.split()
        if not continued and (not words or words[0].startswith("#")):
            # It belongs to the stanza if another option follows.
            (aside if inside else kept).append(line)
            continue
        begins = not continued and BEGINS.match(words[0]) is not None
        inside = words[:2] == ["iface", interface.name] if begins else inside
        if begins:
            kept += aside
        aside = []
        continued = line.rstrip("\n").endswith("\\")
        if not inside:
            kept += [_without_name(line, interface.name)] if begins and _BRINGS.match(words[0]) else [line]
    rest = "".join([*kept, *aside])
    says = any(line.strip() and not line.lstrip().startswith("#") for line in rest.splitlines())
    return rest if says or path == MAIN else ""


def unsaid(text: str, names: t.Container[str]) -> tuple[str, ...]:
    """Stanzas of these interfaces that take options from other stanzas."""
    rows = ((number, line.split()) for number, line in enumerate(text.splitlines(), 1))
    return tuple("%s (line %d)" % (words[4], number) for number, words in rows if words[:1] == ["iface"] and len(words) > 4 and words[1] in names)


def _without_name(line: str, name: str) -> str:
    """Remove an interface from a line such as `auto ib0 ib1`; "" where it names no other."""
    rest = re.sub(r"(?<=\S)[ \t]+%s(?=\s|$)" % re.escape(name), "", line)
    return line if rest == line else rest if len(rest.split()) > 1 else ""


def own_names(files: t.Mapping[str, str]) -> tuple[str, ...]:
    """The interfaces that the administrator has configured with ifupdown."""
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
        # Relative paths start at the directory of the file that contains them.
        patterns = [posixpath.join(posixpath.dirname(MAIN), word) for word in words[1:]]
        if words[0] == "source" and any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns):
            return True
        if words[0] == "source-directory" and _DIRECTORY_NAME.match(posixpath.basename(path)):
            return any(fnmatch.fnmatchcase(posixpath.dirname(path), pattern.rstrip("/")) for pattern in patterns)
    return False


def sourced(main: str, paths: t.Collection[str]) -> str:
    """The text of `/etc/network/interfaces` that includes all of `paths`; foreign lines stay unchanged.

    Our line names our files only: other files in the directory may be excluded on purpose.
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
    """The interfaces that ifupdown has brought up, with the stanza used: one `ib0=ib0` per line, as `ifquery --state` prints it.

    There is no line where ifup failed or other software has set up the interface.
    """
    rows = (line.partition("=") for line in state.splitlines())
    return {name.strip(): stanza.strip() for name, sign, stanza in rows if sign}
