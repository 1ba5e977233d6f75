# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What differs between interfaces and their targets, in the order in which it is to be done. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import UNBORN, UNBORN_BOND, BondState, Node
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Record, Target
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Route
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, changes_of


def _change(name: str, aspect: str, before: str, after: str) -> Change:
    return Change(Kind.INTERFACE, name, aspect, before, after)


def unborn(target: Target, raised: bool = False) -> Netdev:
    """An interface as it will be when it appears; C(raised) as in Node."""
    if target.bond is not None:
        return UNBORN_BOND
    # NetworkManager brings up what it manages, whether it has a profile for it or not.
    return UNBORN._replace(up=not target.is_child and raised)


def target_changes(target: Target, node: Node, record: Record | None, removed: t.Collection[str]) -> tuple[Change, ...]:
    """Everything about one interface. C(removed) are bonds that go: their ports are free after that."""
    netdev = node.netdevs.get(target.name)
    changes: list[Change | None] = []
    if netdev is None and target.is_child:
        changes.append(_change(target.name, "device", "", child_text(target.parent, target.pkey)))
    if target.bond is not None:
        changes += bond_changes(target, netdev, node.bonds.get(target.name))
    if netdev is not None and netdev.master and netdev.master != target.master and netdev.master not in removed:
        changes.append(_change(target.name, "bond", netdev.master, ""))
    return (*changes_of(*changes), *link_changes(target, netdev or unborn(target, node.raised), record, node.routes.get(target.name, ())))


def bond_changes(target: Target, netdev: Netdev | None, state: BondState | None) -> tuple[Change, ...]:
    """The device, its options and its ports."""
    bond = target.bond
    if bond is None:
        return ()
    if netdev is None:
        return (_change(target.name, "device", "", "bond of %s" % ", ".join(bond.ports)),)
    found = state or BondState()

    return changes_of(
        _change(target.name, "bonding_mode", found.mode, _wanted.BOND_MODE),
        _change(target.name, "fail_over_mac", found.fail_over_mac, _wanted.BOND_POLICY),
        _change(target.name, "miimon", str(found.miimon), str(bond.miimon)),
        _change(target.name, "ports", ", ".join(sorted(netdev.members)), ", ".join(sorted(bond.ports))),
        _change(target.name, "primary", found.primary, bond.primary),
    )


def link_changes(target: Target, netdev: Netdev, record: Record | None, routes: t.Sequence[Route] = ()) -> tuple[Change, ...]:
    """What differs between an interface and its target."""
    mode = _change(target.name, "mode", netdev.mode, target.mode) if netdev.mode else None
    mtu = None
    if target.mtu and not clamped(target, netdev, record):
        mtu = _change(target.name, "mtu", "" if _provisional(target, netdev) else str(netdev.mtu), str(target.mtu))
    addresses = _change(target.name, "addresses", ", ".join(canonical(netdev.addresses)), ", ".join(canonical(target.addresses)))
    paths = None
    if any(unequal_routes(routes, target.routes)):
        paths = _change(target.name, "routes", _listed(routes), _listed(target.routes))
    link = _change(target.name, "state", "up" if netdev.up else "down", "up")
    return changes_of(mode, mtu, addresses, paths, link)


def _provisional(target: Target, netdev: Netdev) -> bool:
    """Is the MTU one that the kernel replaces anyway: with the mode, or when a datagram interface joins the broadcast group?"""
    return bool(netdev.mode) and (netdev.mode != target.mode or (netdev.mode == "datagram" and not netdev.up))


def unequal_routes(found: t.Sequence[Route], wanted: t.Sequence[Route]) -> tuple[tuple[Route, ...], tuple[Route, ...]]:
    """Those to add and those to take away. A wanted route without a metric is content with whatever one there is."""
    left, missing = list(found), []
    for route in wanted:
        match = next((other for other in left if other == route or (not route.metric and other[:2] == route[:2])), None)
        if match is None:
            missing.append(route)
        else:
            left.remove(match)
    return tuple(missing), tuple(left)


def route_text(route: Route) -> str:
    words = [route.to, *(["via", route.via] if route.via else []), *(["metric", str(route.metric)] if route.metric else [])]
    return " ".join(words)


def family(route: Route) -> str:
    """As an option of C(ip)."""
    return "-6" if ":" in route.to else "-4"


def _listed(routes: t.Sequence[Route]) -> str:
    return ", ".join(sorted(route_text(route) for route in routes))


def clamped(target: Target, netdev: Netdev, record: Record | None) -> str:
    """Why the datagram MTU can't be what was asked for; "" where nothing is known to be in the way.

    The kernel takes a larger MTU than the broadcast group's without an error and stays at the group's. So an MTU that
    an earlier run has asked for, with an interface that is at one of the values a group can have, is as it should be.
    """
    if not target.mtu or target.mode != "datagram" or netdev.mode == "connected" or record is None or record.mtu != target.mtu:
        return ""
    if target.bond is not None or netdev.mtu not in _wanted.GROUP_MTUS or netdev.mtu >= target.mtu:
        return ""
    return "%s: MTU %d is asked for, and the kernel keeps it at %d, the broadcast group's; the subnet manager's partition must offer %s" % (
        target.name,
        target.mtu,
        netdev.mtu,
        "mtu=5 (4096 bytes)" if target.mtu > _wanted.KERNEL_MTU else "at least mtu=4 (2048 bytes)",
    )


def reasons_of(target: Target, node: Node, record: Record | None) -> tuple[str, ...]:
    """Why something is not as asked for although nothing is left to do."""
    netdev = node.netdevs.get(target.name)
    clamp = clamped(target, netdev or unborn(target, node.raised), record)
    return tuple(reason for reason in (clamp, _narrow(target, node, netdev), _unassigned(target, node)) if reason)


def _narrow(target: Target, node: Node, netdev: Netdev | None) -> str:
    """A bond keeps an MTU that its ports do not have: what is larger than theirs would be lost."""
    if target.bond is None or netdev is None:
        return ""
    narrow = [port for port in target.bond.ports if port in node.netdevs and node.netdevs[port].mtu < netdev.mtu and netdev.mtu == target.mtu]
    if not narrow:
        return ""
    least = min(node.netdevs[port].mtu for port in narrow)
    return "%s: its MTU is %d, but the broadcast group keeps %s at %d, and larger packets are lost: declare mtu: %d, or give the partition mtu=5" % (
        target.name,
        netdev.mtu,
        ", ".join(narrow),
        least,
        least,
    )


def _unassigned(target: Target, node: Node) -> str:
    """A child on a partition that the subnet manager has not given to the port: it is made, and waits for a carrier."""
    parent = node.netdevs.get(target.parent)
    table = node.pkeys.get(parent.port, ()) if parent is not None else ()
    if not target.is_child or not table or any(_wanted.same_partition(int(pkey, 16), target.pkey) for pkey in table):
        return ""
    return "%s: the P_Key 0x%04x is not in the table of port %s (%s): no carrier until the subnet manager assigns it" % (
        target.name,
        target.pkey,
        parent.port if parent is not None else "",
        ", ".join(table),
    )


def canonical(addresses: t.Iterable[str]) -> tuple[str, ...]:
    """Addresses in one spelling and order, so that they can be compared."""
    return tuple(sorted(_wanted.parse_address(address) for address in addresses))


def reset_mtu(record: Record, netdev: Netdev) -> bool:
    """Does taking our settings off an interface that stays leave an MTU that is not the kernel's own?"""
    return netdev.mode != "connected" and bool(record.mtu) and netdev.mtu != _wanted.KERNEL_MTU


def child_text(parent: str, pkey: int) -> str:
    return "P_Key child 0x%04x of %s" % (pkey, parent)


def removal_changes(record: Record, netdev: Netdev | None) -> tuple[Change, ...]:
    """Take off what was ours: bonds and children go, parents return to how the kernel makes them."""
    if netdev is None:
        return ()
    if netdev.kind == "bond":
        return (_change(record.name, "device", "bond of %s" % (", ".join(sorted(netdev.members)) or "nothing"), ""),)
    if netdev.parent:
        return (_change(record.name, "device", child_text(netdev.parent, int(netdev.pkey or "0", 16)), ""),)
    stay = [address for address in canonical(netdev.addresses) if address not in canonical(record.addresses)]
    found: list[Change | None] = [_change(record.name, "addresses", ", ".join(canonical(netdev.addresses)), ", ".join(stay))]
    if netdev.mode == "connected":
        found.append(_change(record.name, "mode", netdev.mode, _wanted.KERNEL_MODE))
        found.append(_change(record.name, "mtu", str(netdev.mtu), str(_wanted.KERNEL_MTU)))
    elif reset_mtu(record, netdev):
        found.append(_change(record.name, "mtu", str(netdev.mtu), str(_wanted.KERNEL_MTU)))
    if not stay:
        found.append(_change(record.name, "state", "up" if netdev.up else "down", "down"))
    return changes_of(*found)
