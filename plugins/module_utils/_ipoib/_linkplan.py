# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What differs between interfaces as found and as wanted, in the order in which it is to be done. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import UNBORN, UNBORN_BOND, BondState, Found, Record
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface, Route
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, changes_of


def _change(name: str, aspect: str, *, before: str, after: str) -> Change:
    return Change(Kind.INTERFACE, name, aspect, before, after)


def unborn(interface: Interface, raised: bool = False) -> Netdev:
    """An interface as it will be when it appears; `raised` as in Found."""
    if interface.bond is not None:
        return UNBORN_BOND
    return UNBORN._replace(up=not interface.is_child and raised)


def interface_changes(interface: Interface, found: Found, *, record: Record | None, removed: t.Collection[str]) -> tuple[Change, ...]:
    """Everything about one interface. `removed` are bonds that go: their ports are free after that."""
    netdev = found.netdevs.get(interface.name)
    changes: list[Change | None] = []
    if netdev is None and interface.is_child:
        changes.append(_change(interface.name, "device", before="", after=child_text(interface.parent, interface.pkey)))
    if interface.bond is not None:
        changes += bond_changes(interface, netdev, found.bonds.get(interface.name))
    if netdev is not None and netdev.master and netdev.master != interface.master and netdev.master not in removed:
        changes.append(_change(interface.name, "bond", before=netdev.master, after=""))
    return (
        *changes_of(*changes),
        *link_changes(interface, netdev or unborn(interface, found.raised), record=record, routes=found.routes.get(interface.name, ())),
    )


def bond_changes(interface: Interface, netdev: Netdev | None, state: BondState | None) -> tuple[Change, ...]:
    """The device, its options and its ports."""
    bond = interface.bond
    if bond is None:
        return ()
    if netdev is None:
        return (_change(interface.name, "device", before="", after="bond of %s" % ", ".join(bond.ports)),)
    state = state or BondState()
    return changes_of(
        _change(interface.name, "bonding_mode", before=state.mode, after=_wanted.BOND_MODE),
        _change(interface.name, "fail_over_mac", before=state.fail_over_mac, after=_wanted.BOND_POLICY),
        _change(interface.name, "miimon", before=str(state.miimon), after=str(bond.miimon)),
        _change(interface.name, "ports", before=", ".join(sorted(netdev.members)), after=", ".join(sorted(bond.ports))),
        _change(interface.name, "primary", before=state.primary, after=bond.primary),
    )


def link_changes(interface: Interface, netdev: Netdev, *, record: Record | None, routes: t.Sequence[Route] = ()) -> tuple[Change, ...]:
    """The link of an interface that exists, or that is expected to appear."""
    mode = _change(interface.name, "mode", before=netdev.mode, after=interface.mode) if netdev.mode else None
    mtu = None
    if interface.mtu and not clamped(interface, netdev, record):
        mtu = _change(interface.name, "mtu", before="" if _provisional(interface, netdev) else str(netdev.mtu), after=str(interface.mtu))
    addresses = _change(interface.name, "addresses", before=", ".join(canonical(netdev.addresses)), after=", ".join(canonical(interface.addresses)))
    paths = None
    if any(unequal_routes(routes, interface.routes)):
        paths = _change(interface.name, "routes", before=_listed(routes), after=_listed(interface.routes))
    link = _change(interface.name, "state", before="up" if netdev.up else "down", after="up")
    return changes_of(mode, mtu, addresses, paths, link)


def _provisional(interface: Interface, netdev: Netdev) -> bool:
    """Whether the kernel replaces the MTU anyway: with the mode, or when a datagram interface joins the broadcast group."""
    return bool(netdev.mode) and (netdev.mode != interface.mode or (netdev.mode == "datagram" and not netdev.up))


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
    """As an option of `ip`."""
    return "-6" if ":" in route.to else "-4"


def _listed(routes: t.Sequence[Route]) -> str:
    return ", ".join(sorted(route_text(route) for route in routes))


def clamped(interface: Interface, netdev: Netdev, record: Record | None) -> str:
    """Why the datagram MTU can't be the declared one; "" where nothing is known to prevent it.

    The kernel takes a larger MTU than the broadcast group's without an error and stays at the group's. So an MTU that
    an earlier run has set, with an interface that is at one of the values a group can have, is as it should be.
    """
    if not interface.mtu or interface.mode != "datagram" or netdev.mode == "connected" or record is None or record.mtu != interface.mtu:
        return ""
    if interface.bond is not None or netdev.mtu not in _wanted.GROUP_MTUS or netdev.mtu >= interface.mtu:
        return ""
    return "%s: MTU %d is declared, and the kernel keeps it at %d, the broadcast group's; the subnet manager's partition must offer %s" % (
        interface.name,
        interface.mtu,
        netdev.mtu,
        "mtu=5 (4096 bytes)" if interface.mtu > _wanted.KERNEL_MTU else "at least mtu=4 (2048 bytes)",
    )


def reasons_of(interface: Interface, found: Found, record: Record | None) -> tuple[str, ...]:
    """Why something deviates although nothing is left to do."""
    netdev = found.netdevs.get(interface.name)
    clamp = clamped(interface, netdev or unborn(interface, found.raised), record)
    return tuple(reason for reason in (clamp, _narrow(interface, found, netdev), _unassigned(interface, found)) if reason)


def _narrow(interface: Interface, found: Found, netdev: Netdev | None) -> str:
    """A bond keeps an MTU that its ports do not have: what is larger than theirs would be lost."""
    if interface.bond is None or netdev is None:
        return ""
    narrow = [port for port in interface.bond.ports if port in found.netdevs and found.netdevs[port].mtu < netdev.mtu and netdev.mtu == interface.mtu]
    if not narrow:
        return ""
    least = min(found.netdevs[port].mtu for port in narrow)
    return "%s: its MTU is %d, but the broadcast group keeps %s at %d, and larger packets are lost: declare mtu: %d, or give the partition mtu=5" % (
        interface.name,
        netdev.mtu,
        ", ".join(narrow),
        least,
        least,
    )


def _unassigned(interface: Interface, found: Found) -> str:
    """A child on a partition that the subnet manager has not given to the port: it is made, and waits for a carrier."""
    parent = found.netdevs.get(interface.parent)
    table = found.pkeys(parent.port) if parent is not None else ()
    if not interface.is_child or not table or any(_wanted.same_partition(int(pkey, 16), interface.pkey) for pkey in table):
        return ""
    return "%s: the P_Key 0x%04x is not in the table of port %s (%s): no carrier until the subnet manager assigns it" % (
        interface.name,
        interface.pkey,
        parent.port if parent is not None else "",
        ", ".join(table),
    )


def canonical(addresses: t.Iterable[str]) -> tuple[str, ...]:
    """Addresses in one spelling and order, so that they can be compared."""
    return tuple(sorted(_wanted.parse_address(address) for address in addresses))


def reset_mtu(record: Record, netdev: Netdev) -> bool:
    """Whether taking our settings off an interface that stays leaves an MTU that is not the kernel's own."""
    return netdev.mode != "connected" and bool(record.mtu) and netdev.mtu != _wanted.KERNEL_MTU


def child_text(parent: str, pkey: int) -> str:
    return "P_Key child 0x%04x of %s" % (pkey, parent)


def removal_changes(record: Record, netdev: Netdev | None) -> tuple[Change, ...]:
    """Take off what was ours: bonds and children go, parents return to how the kernel makes them."""
    if netdev is None:
        return ()
    if netdev.kind == "bond":
        return (_change(record.name, "device", before="bond of %s" % (", ".join(sorted(netdev.members)) or "nothing"), after=""),)
    if netdev.parent:
        return (_change(record.name, "device", before=child_text(netdev.parent, int(netdev.pkey or "0", 16)), after=""),)
    stay = [address for address in canonical(netdev.addresses) if address not in canonical(record.addresses)]
    found: list[Change | None] = [_change(record.name, "addresses", before=", ".join(canonical(netdev.addresses)), after=", ".join(stay))]
    if netdev.mode == "connected":
        found.append(_change(record.name, "mode", before=netdev.mode, after=_wanted.KERNEL_MODE))
        found.append(_change(record.name, "mtu", before=str(netdev.mtu), after=str(_wanted.KERNEL_MTU)))
    elif reset_mtu(record, netdev):
        found.append(_change(record.name, "mtu", before=str(netdev.mtu), after=str(_wanted.KERNEL_MTU)))
    if not stay:
        found.append(_change(record.name, "state", before="up" if netdev.up else "down", after="down"))
    return changes_of(*found)
