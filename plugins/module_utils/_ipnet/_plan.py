# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan: one file of sysctl settings, and the values of the kernel. Pure."""

from __future__ import annotations

import typing as t

from .._foreign import decimal
from .._host._files import HEADER, file_change
from .._plan import Change, Kind, Plan, changes_of
from .._words import some
from ._firewall import _plan as firewalls
from ._names import CONF, DEFAULTS, LIMITS, limit_key
from ._routing import _plan as routing
from ._sysctl import PATH, Own, assigned, at_boot, name_of, parse_own, render

if t.TYPE_CHECKING:
    from ._found import Found
    from ._sysctl import Line
    from ._wanted import Wanted

# By name: the value that is set, and those that serve as well. The kernel uses the larger one of those of the interface and of `all`.
ARP: t.Mapping[str, tuple[str, frozenset[str]]] = {
    "arp_ignore": ("1", frozenset("12")),
    "arp_announce": ("2", frozenset("2")),
    "rp_filter": ("2", frozenset("02")),
}


class Setting(t.NamedTuple):
    """One value that the kernel is to have."""

    key: str
    value: str
    enough: frozenset[str] | None = None
    """All values that serve; None where each number serves that is not smaller."""

    def serves(self, value: str) -> bool:
        return value in self.enough if self.enough is not None else decimal(value, 0) >= decimal(self.value, 0)


def limits(neighbours: int) -> tuple[int, int, int]:
    """The three limits of a neighbour table: none of so many entries is collected, and the table has room for as many again, and for four times as many.

    The first one is a power of two, so that a few more hosts change nothing.
    """
    first = max(DEFAULTS[0], 1 << (neighbours - 1).bit_length())
    return first, 2 * first, 4 * first


def settings(wanted: Wanted, found: Found) -> list[Setting]:
    """The values that are wanted. In a container, the kernel of the host has the limits of the neighbour tables, and they are left alone."""
    ours = parse_own(found.text)
    result = [Setting(CONF % (interface, name), *rule) for interface in wanted.shared for name, rule in ARP.items()]
    if wanted.unsized:
        result += [Setting(key, own.value) for key, own in ours.items() if key.rpartition("/")[2] in LIMITS and decimal(own.value) is not None]
    for family, neighbours in sorted(wanted.neighbours.items()):
        for name, least, default in zip(LIMITS, limits(neighbours), DEFAULTS):
            key = limit_key(family, name)
            # Limits are raised only. A smaller inventory does not lower what an earlier run has set.
            least = max(least, decimal(ours[key].value, 0) if key in ours else 0)
            if least > default and key in found.kernel:
                result.append(Setting(key, str(least)))
    return result


def overriding(goals: t.Iterable[Setting], found: Found) -> list[tuple[Setting, Line]]:
    """The settings that files of others undo at boot, with the assignments that do so: they are read after ours."""
    pairs = ((setting, assigned(found.lines, setting.key)) for setting in goals)
    return [(setting, line) for setting, line in pairs if line is not None and line.later and not _suffices(setting, found, line.value)]


def refusals(wanted: Wanted, found: Found) -> list[str]:
    """Why the settings can't be made, in words."""
    goals = settings(wanted, found)
    if found.text and not found.text.startswith(HEADER) and render(_own(goals, found)):
        return ["%s exists and is not the collection's: rename it; files of other names stay as they are" % PATH]
    form = "%s line %d sets %s = %s, and is read after %s%s: remove the line, or set it to %s; to leave these settings alone, declare %s: keep"
    return [
        form % (line.path, line.line, name_of(setting.key), line.value, PATH, _cause(setting, found, line.value), setting.value, _variable(setting))
        for setting, line in overriding(goals, found)
    ] + [*firewalls.refusals(wanted.trusted, found.firewall), *routing.refusals(wanted.sources, found.routing)]


def _cause(setting: Setting, found: Found, value: str) -> str:
    """Why a value does not suffice that would serve alone, in words; "" for another one."""
    if not setting.serves(value):
        return ""
    everywhere = name_of(CONF % ("all", setting.key.rpartition("/")[2]))
    return " (%s is %s, and the kernel uses the larger value)" % (everywhere, _effective(setting, found, value))


def _variable(setting: Setting) -> str:
    return "ipoib_network_neighbours" if setting.enough is None else "ipoib_network_arp"


def _own(goals: t.Iterable[Setting], found: Found) -> dict[str, Own]:
    """What our file is to say: the settings that no file of others makes."""
    ours = parse_own(found.text)
    own = {}
    for setting in goals:
        theirs = assigned(found.lines, setting.key)
        if theirs is not None and _suffices(setting, found, theirs.value):
            continue
        own[setting.key] = _limit(setting, ours.get(setting.key), found) if setting.enough is None else Own(setting.value)
    return own


def _limit(setting: Setting, ours: Own | None, found: Found) -> Own:
    """What our file is to say about a limit, with the value before. A larger one of the kernel is from others: our file does not lower it at the next boot.

    Only limits are recorded: an interface that appears has the values of files and of `default`.
    """
    present = found.kernel.get(setting.key, "")
    if decimal(present, 0) > decimal(setting.value, 0):
        return Own(present, present)
    return Own(setting.value, ours.former if ours is not None else present)


def _effective(setting: Setting, found: Found, value: str) -> str:
    """The value that the kernel uses if the key has this value."""
    if setting.enough is None:
        return value
    everywhere = found.kernel.get(CONF % ("all", setting.key.rpartition("/")[2]), "")
    return str(max(decimal(value, 0), decimal(everywhere, 0)))


def _suffices(setting: Setting, found: Found, value: str) -> bool:
    """Whether a value of others does all that ours would do: with the value for all interfaces, too, unless not even ours serves then."""
    return setting.serves(value) and (setting.serves(_effective(setting, found, value)) or not setting.serves(_effective(setting, found, setting.value)))


def overruled(wanted: Wanted, found: Found) -> list[str]:
    """The settings that have no effect now, in words: because of the value for all interfaces, or because nothing can be set here."""
    form = "%s is %s, and the kernel uses the larger value: for %s, %s is wanted. Lower it, or declare ipoib_network_arp: keep"
    goals = settings(wanted, found)
    if found.chroot:
        own = [name_of(key) for key in sorted(_own(goals, found))]
        return ["this is a chroot, so %s are set by %s only when a system boots from it" % (some(own, 2), PATH)] if own else []
    result = []
    present = ((setting, found.kernel.get(setting.key)) for setting in goals)
    unset = [name_of(setting.key) for setting, value in present if value is not None and not setting.serves(_effective(setting, found, value))]
    if found.read_only and unset:
        return ["/proc/sys is read-only on this node, so %s can't be set now: set it where the container is started" % some(unset, 2)]
    for setting in goals:
        effective = _effective(setting, found, setting.value)
        if not setting.serves(effective):
            _conf, interface, name = setting.key.rsplit("/", 2)
            result.append(form % (name_of(CONF % ("all", name)), effective, interface, setting.value))
    return result


def plan(wanted: Wanted, found: Found) -> Plan:
    """First what the kernel gets back, then the file, then what the kernel gets, then firewalls and routes. A run that ends in between is completed by the
    next one.

    The file is the only record of what is given back, so it is changed afterwards.

    Where the kernel's values can't be set, the file is written all the same: the node may be an image that other kernels boot.
    """
    goals = settings(wanted, found)
    own, ours = _own(goals, found), parse_own(found.text)
    is_ours = not found.text or found.text.startswith(HEADER)
    kept = {setting.key for setting in goals}
    changes = [_given_back(key, ours[key], found) for key in sorted(set(ours) - kept)]
    changes += [file_change(PATH, found.text, render(own))] if is_ours else []
    changes += [_in_kernel(setting, own, found) for setting in goals]
    return Plan(changes_of(*changes, *firewalls.changes(wanted.trusted, found.firewall), *routing.changes(wanted.sources, found.routing)))


def _in_kernel(setting: Setting, own: t.Container[str], found: Found) -> Change | None:
    """The change of the present value. Without its interface, a key appears later, and gets the value of the files then. `own`: the keys in our file.

    A value that serves stays until the next boot: a stricter one may be the choice of the site.
    """
    present = found.kernel.get(setting.key)
    if present is None or found.is_fixed or setting.serves(_effective(setting, found, present)) or _suffices(setting, found, present):
        return None
    theirs = assigned(found.lines, setting.key) if setting.key not in own else None
    return Change(Kind.SYSCTL, name_of(setting.key), "", present, theirs.value if theirs is not None else setting.value)


def _given_back(key: str, ours: Own, found: Found) -> Change | None:
    """The change back to the former value: that of files of others, or the recorded one, or that of an interface that appears."""
    present = found.kernel.get(key)
    # What others have set since stays.
    if present != ours.value or found.is_fixed:
        return None
    theirs = at_boot(found.lines, key)
    name = key.rpartition("/")[2]
    # The kernel refuses what is no number, at boot as well.
    readable = theirs.value if theirs is not None and decimal(theirs.value) is not None else ""
    former = readable or ours.former or (found.kernel.get(CONF % ("default", name), "") if name in ARP else "")
    return Change(Kind.SYSCTL, name_of(key), "", present, former) if former else None


def foretold(wanted: Wanted, found: Found) -> Found:
    """The state with interfaces that an earlier role creates in the same run: each has the values of `default`."""
    coming = [name for name in wanted.shared if name not in wanted.late and CONF % (name, "arp_ignore") not in found.kernel]
    known = {CONF % (name, key): found.kernel.get(CONF % ("default", key)) for name in coming for key in ARP}
    return found._replace(kernel={**found.kernel, **{key: value for key, value in known.items() if value is not None}})
