# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of the user's choice for the interfaces of ports: a udev rule for every boot, and when it can be done now. Pure.

The rule knows a port by the last 8 bytes of the hardware address. A P_Key child and a bond show the same bytes: a child
has a dot in its name, a bond a folder of its own. The rule comes before the ones that name by the place of the adapter.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import Identity
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface, Naming
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found

RULE_PATH = "/etc/udev/rules.d/70-rdma-ofed-ipoib-names.rules"
_RULE = 'ACTION=="add", SUBSYSTEM=="net", KERNEL!="*.*", TEST!="bonding", ATTR{type}=="32", ATTR{address}=="*:%s", NAME="%s"\n'


def render(namings: t.Sequence[Naming]) -> dict[str, str]:
    """The rules by path; none where no interface is to be named."""
    if not namings:
        return {}
    ordered = sorted(namings, key=lambda naming: naming.name)
    return {RULE_PATH: HEADER + "".join(_RULE % (Identity(naming.name, naming.guid).tail, naming.name) for naming in ordered)}


def obstacle(naming: Naming, found: Found) -> str:
    """Why an interface can't get its name now; "" where it can. The kernel renames only what is down."""
    if naming.name in found.netdevs:
        return "another interface is called %s" % naming.name
    if naming.current in found.ssh_path:
        return "the connection of this run goes through %s" % naming.current
    if found.netdevs[naming.current].up:
        return "%s is up" % naming.current
    return "%s has a P_Key child" % naming.current if any(netdev.parent == naming.current for netdev in found.netdevs.values()) else ""


def change_of(naming: Naming) -> Change:
    return Change(Kind.INTERFACE, naming.current, "name", naming.current, naming.name)


def reason_of(pending: Pending) -> str:
    change = pending.change
    return "%s gets its name %s at the next start: %s" % (change.before, change.after, "; ".join(pending.why))


def sort_out(namings: t.Sequence[Naming], found: Found) -> tuple[tuple[Naming, ...], dict[str, Pending], dict[str, Netdev]]:
    """Those that get their name now, why others do not (by the name that they shall have), and the interfaces by their names after that."""
    now, later = [], {}
    netdevs = dict(found.netdevs)
    names = {netdev.port_guid: netdev.name for netdev in reversed(list(found.netdevs.values())) if netdev.kind == "ipoib"}
    for naming in (naming._replace(current=names.get(naming.guid, "")) for naming in namings):
        if naming.current in ("", naming.name):
            continue
        reason = obstacle(naming, found)
        if reason:
            later[naming.name] = Pending(change_of(naming)._replace(needs="reboot"), (reason,))
        else:
            now.append(naming)
            netdevs[naming.name] = netdevs.pop(naming.current)._replace(name=naming.name)
    return tuple(now), later, netdevs


def waiting(names: t.Iterable[str], interfaces: t.Sequence[Interface]) -> frozenset[str]:
    """The interfaces that can't be configured before these have their names: themselves, children, bonds and all of their ports."""
    found = set(names)
    while True:
        more = {interface.name for interface in interfaces if interface.parent in found or interface.master in found}
        more |= {interface.name for interface in interfaces if interface.bond is not None and found.intersection(interface.bond.ports)}
        if more <= found:
            return frozenset(found)
        found |= more
