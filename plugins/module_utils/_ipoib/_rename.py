# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""User-defined names for the interfaces of ports: a udev rule for every boot, and renaming at once where possible. Pure.

The rule identifies a port by the last 8 bytes of the hardware address. A P_Key child and a bond show the same bytes, but a child
has a dot in its name, and a bond has a bonding folder in sysfs. The rule precedes those that name interfaces by the location of the adapter.
"""

from __future__ import annotations

import typing as t

from .._facts._portname import parse_function
from .._host._files import HEADER
from .._plan import Change, Kind, Pending
from ._identity import Identity
from ._wanted import Interface, Naming

if t.TYPE_CHECKING:
    from .._facts._netdevs import Netdev
    from ._found import Found

RULE_PATH = "/etc/udev/rules.d/70-rdma-ofed-ipoib-names.rules"
SCRIPT_PATH = "/usr/local/libexec/rdma-ofed-ipoib-name"
PATHS = (SCRIPT_PATH, RULE_PATH)
_RULE = 'ACTION=="add", SUBSYSTEM=="net", KERNEL!="*.*", TEST!="bonding", ATTR{type}=="32", ATTR{address}=="*:%s", NAME="%s"\n'
# In an image, of which no port is known by its GUID. The kernel counts the ports of a function from zero.
_PLACED = 'ACTION=="add", SUBSYSTEM=="net", KERNEL!="*.*", TEST!="bonding", ATTR{type}=="32", KERNELS=="%s", %sNAME="%s"\n'
_PORT = 'ATTR{dev_port}=="%d", '
# The device may have another name by the time udev handles it, so the rule passes its index.
_CROSSED = 'ACTION=="add", SUBSYSTEM=="net", KERNEL=="ib*", KERNEL!="*.*", PROGRAM=="%s $env{IFINDEX}", NAME="%%c"\n'
_SCRIPT = (
    "#!/bin/sh\n"
    + HEADER
    + """\
# Usage: rdma-ofed-ipoib-name INDEX
# For udev: prints the name that the interface with this index shall have. One that has this name now, and shall have another
# one, makes room. udev cannot do that: it gives a name, or finds that it is taken.
set -u
# udev sets none.
PATH=${PATH:-/usr/sbin:/usr/bin:/sbin:/bin}
names='
%s
'
shall() {
    address=$(cat "/sys/class/net/$1/address" 2>/dev/null) || return 0
    for entry in $names; do
        case $address in
        *:"${entry%%=*}")
            echo "${entry#*=}"
            return 0
            ;;
        esac
    done
}
exec 9>/run/rdma-ofed-ipoib-name.lock
flock 9
for folder in /sys/class/net/*; do
    [ "$(cat "$folder/ifindex" 2>/dev/null)" = "$1" ] || continue
    # A P_Key child and a bond show the address of a port, too.
    [ "$(cat "$folder/type")" = 32 ] && [ ! -e "$folder/bonding" ] && [ ! -e "$folder/parent" ] || exit 1
    name=$(shall "${folder##*/}")
    [ -n "$name" ] || exit 1
    if [ "${folder##*/}" != "$name" ] && [ -e "/sys/class/net/$name" ]; then
        other=$(shall "$name")
        if [ -n "$other" ] && [ "$other" != "$name" ]; then
            ip link set dev "$name" name "%s$(cat "/sys/class/net/$name/ifindex")" || exit 1
        fi
    fi
    echo "$name"
    exit 0
done
exit 1
"""
)
# The prefix, followed by a number, of temporary names while interfaces swap names.
_TEMPORARY = "rdma-"


class Sorted(t.NamedTuple):
    """What becomes of the namings on a node."""

    now: tuple[Naming, ...] = ()
    """The namings that are carried out now."""
    later: t.Mapping[str, Pending] = {}
    """Why others get their name only at the next start of the node, by that name."""
    taken: tuple[str, ...] = ()
    """Why others can't get their name: another interface has it and keeps it. In words."""
    netdevs: t.Mapping[str, Netdev] = {}
    """The interfaces by their names after that."""


def render(namings: t.Sequence[Naming], coming: t.Mapping[str, str] | None = None, *, present: str = "") -> dict[str, str]:
    """The rules by path; none where no interface is to be named. `coming`: the names that the kernel gives at boot, with the port GUIDs. `present`: the
    rules that are there. Those of the image from which the node has booted stay.

    Where the kernel first gives a declared name to another declared port, a rule alone would find the name taken.
    """
    if not namings:
        return {}
    ordered = sorted(namings, key=lambda naming: naming.name)
    guids = {naming.guid for naming in namings}
    placed = HEADER + "".join(_rule(naming._replace(guid="") if naming.place else naming) for naming in ordered)
    if present == placed:
        return {RULE_PATH: placed}
    if not any((coming or {}).get(naming.name, naming.guid) in guids - {naming.guid} for naming in namings):
        return {RULE_PATH: HEADER + "".join(map(_rule, ordered))}
    table = "\n".join("%s=%s" % (Identity(naming.name, naming.guid).tail, naming.name) for naming in ordered)
    return {SCRIPT_PATH: _SCRIPT % (table, _TEMPORARY), RULE_PATH: HEADER + _CROSSED % SCRIPT_PATH}


def _rule(naming: Naming) -> str:
    place = None if naming.guid else parse_function(naming.place)
    if place is None:
        return _RULE % (Identity(naming.name, naming.guid).tail, naming.name)
    return _PLACED % (place.pci, _PORT % (place.number - 1) if place.number else "", naming.name)


def _obstacle(current: str, found: Found, ending: t.Collection[str]) -> str:
    """Why an interface can't be renamed now; "" where it can. The kernel renames only interfaces that are down."""
    if current in found.ssh_path:
        return "the connection of this run goes through %s" % current
    netdev = found.netdevs[current]
    # A port of a removed bond is down afterwards.
    if netdev.up and not (netdev.master and netdev.master in ending):
        return "%s is up" % current
    children = any(netdev.parent == current and netdev.name not in ending for netdev in found.netdevs.values())
    return "%s has a P_Key child" % current if children else ""


def change_of(naming: Naming) -> Change:
    return Change(Kind.INTERFACE, naming.current, "name", naming.current, naming.name)


def reason_of(pending: Pending) -> str:
    change = pending.change
    return "%s gets its name %s at the next start: %s" % (change.before, change.after, "; ".join(pending.why))


def sort_out(namings: t.Sequence[Naming], found: Found, ending: t.Collection[str] = ()) -> Sorted:
    """Sort the namings. Interfaces swap names only if all of them can be renamed now. `ending`: interfaces that are removed before that."""
    # Of the released interfaces, those of ports continue to exist.
    ending = {name for name in ending if name in found.netdevs and found.netdevs[name].kind != "ipoib"}
    names = {netdev.port_guid: netdev.name for netdev in reversed(list(found.netdevs.values())) if netdev.kind == "ipoib"}
    known = [naming._replace(current=names.get(naming.guid, "")) for naming in namings]
    obstacles = {naming.name: _obstacle(naming.current, found, ending) for naming in known if naming.current not in ("", naming.name)}
    now = [naming for naming in known if obstacles.get(naming.name) == ""]
    while True:
        free = {naming.current for naming in now} | set(ending)
        able = [naming for naming in now if naming.name not in found.netdevs or naming.name in free]
        if len(able) == len(now):
            break
        now = able
    left = [naming for naming in known if naming.current != naming.name and naming not in now]
    # If its own interface is missing, the lookup by name finds another one.
    taken = [_taken(naming, found, obstacles) for naming in left if naming.name in found.netdevs]
    later = {
        naming.name: Pending(change_of(naming)._replace(needs="reboot"), (obstacles[naming.name],))
        for naming in left
        if naming.current and naming.name not in found.netdevs
    }
    gone = {naming.current for naming in now}
    netdevs = {name: netdev for name, netdev in found.netdevs.items() if name not in gone}
    netdevs.update((naming.name, found.netdevs[naming.current]._replace(name=naming.name)) for naming in now)
    return Sorted(tuple(now), later, tuple(taken), netdevs)


def _taken(naming: Naming, found: Found, obstacles: t.Mapping[str, str]) -> str:
    other = found.netdevs[naming.name]
    text = "%s is declared for port %s, and is already the name of %s" % (naming.name, naming.guid, other.port_guid or "an interface of kind %s" % other.kind)
    own = obstacles.get(naming.name, "")
    if not naming.current:
        return text + "; the port has no interface"
    return text + (", while %s" % own if own else "") + ("; %s is up" % naming.name if other.up else "")


def steps(renames: t.Sequence[Naming], names: t.Collection[str]) -> tuple[tuple[str, str], ...]:
    """Old and new names, in an order that the kernel accepts. `names`: the existing names."""
    there, todo = set(names), list(renames)
    found: list[tuple[str, str]] = []
    while todo:
        free = next((naming for naming in todo if naming.name not in there), None)
        if free is None:
            # All wait for each other: one gets a temporary name.
            first = todo.pop(0)
            aside = next(name for name in ("%s%d" % (_TEMPORARY, number) for number in range(len(there) + 1)) if name not in there)
            free = first._replace(name=aside)
            todo.append(first._replace(current=aside))
        else:
            todo.remove(free)
        found.append((free.current, free.name))
        there = (there - {free.current}) | {free.name}
    return tuple(found)


def waiting(names: t.Iterable[str], interfaces: t.Sequence[Interface]) -> frozenset[str]:
    """The interfaces that can't be configured before `names` exist: these, their children, bonds, and all ports of those bonds."""
    found = set(names)
    while True:
        more = {interface.name for interface in interfaces if interface.parent in found or interface.master in found}
        more |= {interface.name for interface in interfaces if interface.bond is not None and found.intersection(interface.bond.ports)}
        if more <= found:
            return frozenset(found)
        found |= more
