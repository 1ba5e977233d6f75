# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan for the firewalls of a node: exactly the declared interfaces are accepted, and what an earlier run has added goes where it is not declared. Pure."""

from __future__ import annotations

import typing as t

from ..._host._files import file_change
from ..._plan import Change, Kind
from ..._words import some
from ._ledger import PATH, parse, render

if t.TYPE_CHECKING:
    from ._found import Firewall, Firewalld, Ufw
    from ._wanted import Trusted

NOW, BOOT, RULE = "zone", "permanent_zone", "rule"
"""The aspects of a change."""
ALLOW = "allow"
_KEEP = "or declare ipoib_network_firewall: keep"


def changes(wanted: Trusted, found: Firewall) -> list[Change | None]:
    """The changes in order. What goes is taken back before the record forgets it, and what comes is on record before it is added."""
    return [*_of_firewalld(wanted, found), *_of_ufw(wanted, found.ufw)]


def _of_firewalld(wanted: Trusted, found: Firewall) -> list[Change | None]:
    firewalld, record = found.firewalld, parse(found.record)
    # One that is switched off gets nothing. What it has already, it keeps for the day when it is switched on.
    names = wanted.names if firewalld.acts else wanted.names & frozenset(record)
    stale = {name: zone for name, zone in record.items() if name not in names or zone != wanted.zone}
    # What lists an interface in a zone, and is not on record, is from others. It stays theirs where our profile repeats it.
    kept = {name: wanted.zone for name in names if name in record or wanted.zone not in (firewalld.bound(name)[0], firewalld.listed(name)[0])}
    return [
        # An interface leaves its zone first: NetworkManager moves it to the default zone as soon as its profile names none, and firewalld refuses this then.
        *(_left(name, zone, firewalld) for name, zone in sorted(stale.items()) if name not in names),
        *(_unbound(name, zone, firewalld) for name, zone in sorted(stale.items())),
        file_change(PATH, found.record, render(kept)),
        *(_bound(name, wanted.zone, firewalld) for name in sorted(names) if firewalld.acts),
        *(Change(Kind.FIREWALL, name, NOW, firewalld.zone_of(name), wanted.zone) for name in sorted(names) if firewalld.running),
    ]


def _bound(name: str, zone: str, firewalld: Firewalld) -> Change | None:
    # A former zone of ours is taken back before.
    return Change(Kind.FIREWALL, name, BOOT, "", zone) if firewalld.bound(name)[0] != zone else None


def _unbound(name: str, zone: str, firewalld: Firewalld) -> Change | None:
    """What others have set since stays, and so do their profiles."""
    places = [firewalld.listed(name)[0], *([firewalld.profiles[name].zone] if name in firewalld.profiles else [])]
    return Change(Kind.FIREWALL, name, BOOT, zone, "") if firewalld.installed and zone in places else None


def _left(name: str, zone: str, firewalld: Firewalld) -> Change | None:
    ours = firewalld.running and firewalld.now.get(name) == zone and name not in firewalld.elsewhere
    return Change(Kind.FIREWALL, name, NOW, zone, firewalld.default) if ours else None


def _of_ufw(wanted: Trusted, ufw: Ufw) -> list[Change]:
    # One that is switched off keeps what it has, as firewalld does.
    stale = {rule.interface for rule in ufw.rules if rule.ours and rule.interface not in wanted.names}
    return [
        *(Change(Kind.FIREWALL, name, RULE, ALLOW, "") for name in sorted(stale)),
        *(Change(Kind.FIREWALL, name, RULE, "", ALLOW) for name in sorted(wanted.names) if ufw.enabled and not ufw.opens(name)),
    ]


def refusals(wanted: Trusted, found: Firewall) -> list[str]:
    """Why the traffic of the interfaces can't be accepted as declared, in words."""
    firewalld, names = found.firewalld, sorted(wanted.names)
    record = parse(found.record)
    result = [words for name in names for words in _against(name, found.ufw)]
    if firewalld.fault and (names or record):
        return [*result, "firewalld runs and does not answer (%s): see 'journalctl -u firewalld'" % firewalld.fault]
    if not names or not firewalld.acts:
        return result
    if wanted.zone not in firewalld.zones:
        form = (
            "firewalld has no zone %s on this node, only %s: create it with 'firewall-cmd --permanent --new-zone=%s' and 'firewall-cmd --reload', or correct %s"
        )
        return [*result, form % (wanted.zone, some(sorted(firewalld.zones), 12), wanted.zone, "ipoib_network_firewall_zone")]
    return [*result, *filter(None, (_placed(name, wanted.zone, firewalld, record=record) for name in names))]


def _against(name: str, ufw: Ufw) -> list[str]:
    """Why ufw can't accept what arrives on an interface by a rule of ours, in words."""
    closing = _closing(name, ufw)
    # ufw would replace such a rule by ours.
    replaced = [] if not ufw.enabled or ufw.opens(name) else [rule.words for rule in ufw.rules if rule.alike(name) and not rule.ours]
    form = "ufw has one rule for all that arrives on %s, and replaces this one (%s) by that of the role: remove it, run 'ufw allow in on %s', %s"
    return [_closed(name, rule) for rule in closing] + [form % (name, rule, name, _KEEP) for rule in replaced if rule not in closing]


def _closing(name: str, ufw: Ufw) -> list[str]:
    """The rules that drop what arrives on an interface, before any rule that accepts it. Ours would come after them."""
    found = []
    for family in ufw.families if ufw.enabled else ():
        for rule in ufw.rules:
            if rule.family == family and rule.opens(name):
                break
            found += [rule.words] if rule.family == family and rule.closes(name) else []
    return found


def _closed(name: str, rule: str) -> str:
    return "a rule of ufw (%s) drops what arrives on %s: remove it, %s; see 'ufw status numbered'" % (rule, name, _KEEP)


def _placed(name: str, zone: str, firewalld: Firewalld, *, record: t.Mapping[str, str]) -> str:
    """Why an interface can't be put into a zone, in words: others have put it elsewhere, or its zone has another place. "" where it can."""
    bound, path = firewalld.bound(name)
    if bound not in ("", zone, record.get(name)):
        return "%s puts %s into the zone %s: take it out of there, declare ipoib_network_firewall_zone: %s, %s" % (path, name, bound, bound, _KEEP)
    now = firewalld.zone_of(name) if firewalld.running else zone
    if now not in (zone, firewalld.default, record.get(name)):
        return "firewalld has %s in its zone %s: take it out of there, declare ipoib_network_firewall_zone: %s, %s" % (name, now, now, _KEEP)
    if name in firewalld.elsewhere and not firewalld.running:
        form = (
            "NetworkManager takes the zone of %s from its profile %s, which is no keyfile of this collection, and firewalld does not run: start firewalld, %s"
        )
        return form % (name, firewalld.elsewhere[name], _KEEP)
    if name in firewalld.elsewhere and now != zone:
        form = "NetworkManager takes the zone of %s from a profile that is no keyfile of this collection: 'nmcli connection modify %s connection.zone %s', %s"
        return form % (name, firewalld.elsewhere[name], zone, _KEEP)
    return ""


class Dropped(t.NamedTuple):
    """An interface whose traffic a firewall drops, unless one of its rules accepts it."""

    name: str
    firewall: str
    """`firewalld` or `ufw`."""
    zone: str = ""
    """That of firewalld."""


def dropped(names: t.Iterable[str], found: Firewall) -> list[Dropped]:
    """The interfaces whose traffic a running firewall drops."""
    firewalld, ufw = found.firewalld, found.ufw
    result = []
    # A zone for certain sources may be for the hosts of the fabric.
    if firewalld.running and not firewalld.fault and not any(zone.open and zone.sources for zone in firewalld.zones.values()):
        zones = {name: firewalld.zone_of(name) for name in names}
        result += [Dropped(name, "firewalld", zone) for name, zone in sorted(zones.items()) if zone in firewalld.zones and not firewalld.zones[zone].open]
    if ufw.enabled and ufw.drops:
        result += [Dropped(name, "ufw") for name in sorted(names) if not ufw.opens(name)]
    return result
