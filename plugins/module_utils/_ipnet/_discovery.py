# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe what the firewall of a host does with its IPoIB interfaces by declarations. Pure."""

from __future__ import annotations

from .._concern import Discovery, Subject
from .._discovered import Left, Reading, Value
from .._foreign import rows_of
from ._found import Found
from ._wanted import TRUSTED

_FIREWALL, _ZONE = "ipoib_network_firewall", "ipoib_network_firewall_zone"
_WHY = "%s and %s are for all IPoIB interfaces of a host, and they differ in this: it stays as it is" % (_FIREWALL, _ZONE)


def read(subject: Subject) -> Reading:
    """The declarations of one host: the one zone of all its IPoIB interfaces with addresses, or rules of ufw for each of them."""
    found: Found = subject.found
    rows = (row for row in rows_of(subject.facts, "netdevs") if row.get("addresses"))
    names = sorted(str(row.get("name")) for row in rows if row.get("name") in found.examined)
    firewalld, ufw = found.firewall.firewalld, found.firewall.ufw
    zones = {name: firewalld.bound(name)[0] if firewalld.acts else "" for name in names}
    rules = {rule.interface for rule in ufw.rules if rule.whole and rule.action == "allow" and ufw.enabled}
    placed = {name for name in names if zones[name] not in ("", firewalld.default)}
    opened = {name for name in names if name in rules and ufw.opens(name)}
    whole = (placed, opened) in ((set(names), set()), (set(), set(names)), (set(names), set(names)))
    if not (placed or opened):
        return Reading()
    if not whole or len({zones[name] for name in placed}) > 1:
        left = [Left("zone %s of %s in firewalld" % (zones[name], name), _WHY) for name in sorted(placed)]
        return Reading(left=[*left, *(Left("a rule of ufw for %s" % name, _WHY) for name in sorted(opened))])
    source = "zones of firewalld" if placed else "rules of ufw"
    zone = zones[min(placed)] if placed else TRUSTED
    return Reading([Value(_FIREWALL, TRUSTED, source), *([Value(_ZONE, zone, source)] if zone != TRUSTED else [])])


DISCOVERY = Discovery(read, hints={"interfaces": [], "firewall": True, "every": True}, seen=Found)
