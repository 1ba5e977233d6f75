# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Differences between found and wanted interfaces, in the order of their changes. Pure."""

from __future__ import annotations

import typing as t

from .._facts._netdevs import Netdev
from .._foreign import hexadecimal
from .._plan import Change, Kind, changes_of
from . import _wanted
from ._found import UNBORN, UNBORN_BOND, BondState, Found, Record
from ._wanted import Bond, Interface, Route


def _change(name: str, aspect: str, *, before: str, after: str) -> Change:
    return Change(Kind.INTERFACE, name, aspect, before, after)


def unborn(interface: Interface, raised: bool = False) -> Netdev:
    """An interface as it will be when it appears. `raised`: as in Found."""
    if interface.bond is not None:
        return UNBORN_BOND
    return UNBORN._replace(up=not interface.is_child and raised)


def interface_changes(interface: Interface, found: Found, *, record: Record | None, removed: t.Collection[str]) -> tuple[Change, ...]:
    """All changes of one interface. `removed`: bonds that are removed, which frees their ports."""
    name, netdev = interface.name, found.netdevs.get(interface.name)
    changes: list[Change | None] = []
    if netdev is None and interface.is_child:
        changes.append(_change(name, "device", before="", after=child_text(interface.parent, interface.pkey)))
    if interface.bond is not None:
        changes += _bond_changes(name, interface.bond, netdev, state=found.bonds.get(name, BondState()))
    if netdev is not None and netdev.master and netdev.master != interface.master and netdev.master not in removed:
        changes.append(_change(name, "bond", before=netdev.master, after=""))
    link = netdev or unborn(interface, found.raised)
    if link.mode:
        changes.append(_change(name, "mode", before=link.mode, after=interface.mode))
    if interface.mtu and not _clamped(interface, link, record):
        changes.append(_change(name, "mtu", before="" if _provisional(interface, link) else str(link.mtu), after=str(interface.mtu)))
    changes.append(_change(name, "addresses", before=", ".join(fixed(interface, link.addresses)), after=", ".join(canonical(interface.addresses))))
    routes = found.routes.get(name, ())
    if any(unequal_routes(routes, interface.routes)):
        changes.append(_change(name, "routes", before=_listed(routes), after=_listed(interface.routes)))
    return changes_of(*changes, _change(name, "state", before="up" if link.up else "down", after="up"))


def _bond_changes(name: str, bond: Bond, netdev: Netdev | None, *, state: BondState) -> tuple[Change, ...]:
    """Changes of the device, its options and its ports."""
    if netdev is None:
        return (_change(name, "device", before="", after="bond of %s" % ", ".join(bond.ports)),)
    return (
        _change(name, "bonding_mode", before=state.mode, after=_wanted.BOND_MODE),
        _change(name, "fail_over_mac", before=state.fail_over_mac, after=_wanted.BOND_POLICY),
        _change(name, "miimon", before=str(state.miimon), after=str(bond.miimon)),
        _change(name, "ports", before=", ".join(sorted(netdev.members)), after=", ".join(sorted(bond.ports))),
        _change(name, "primary", before=state.primary, after=bond.primary),
    )


def _provisional(interface: Interface, netdev: Netdev) -> bool:
    """Whether the kernel replaces the MTU anyway: with the mode, or when a datagram interface joins the broadcast group."""
    return bool(netdev.mode) and (netdev.mode != interface.mode or (netdev.mode == "datagram" and not netdev.up))


def unequal_routes(found: t.Sequence[Route], wanted: t.Sequence[Route]) -> tuple[tuple[Route, ...], tuple[Route, ...]]:
    """The routes to add and the routes to remove. A wanted route without a metric matches a route with any metric."""
    left, missing = list(found), []
    for route in wanted:
        match = next((other for other in left if other == route or (not route.metric and other[:2] == route[:2])), None)
        if match is None:
            missing.append(route)
        else:
            left.remove(match)
    return tuple(missing), tuple(left)


def _listed(routes: t.Sequence[Route]) -> str:
    return ", ".join(sorted(" ".join(route.words()) for route in routes))


def _clamped(interface: Interface, netdev: Netdev, record: Record | None) -> str:
    """Why the datagram MTU can't be the declared one; "" where nothing is known to prevent it.

    The kernel accepts an MTU above that of the broadcast group without an error, and keeps that of the group. So an MTU that
    an earlier run has set counts as right on an interface that has one of the values a group can have.
    """
    if not interface.mtu or interface.mode != "datagram" or netdev.mode == "connected" or record is None or record.mtu != interface.mtu:
        return ""
    if interface.bond is not None or netdev.mtu not in _wanted.GROUP_MTUS or netdev.mtu >= interface.mtu:
        return ""
    offer = "mtu: 4096" if interface.mtu > _wanted.KERNEL_MTU else "at least mtu: 2048"
    text = "%s: MTU %d is declared, and the kernel limits it to %d, the MTU of the broadcast group; the partition needs %s in opensm_partitions"
    return text % (interface.name, interface.mtu, netdev.mtu, offer)


def reasons_of(interface: Interface, found: Found, record: Record | None) -> tuple[str, ...]:
    """Why something deviates although there is nothing left to do."""
    clamp = _clamped(interface, found.netdevs.get(interface.name) or unborn(interface, found.raised), record)
    return tuple(reason for reason in (clamp, _narrow(interface, found), _unassigned(interface, found)) if reason)


def _narrow(interface: Interface, found: Found) -> str:
    """The reason for a bond whose MTU its ports do not have: larger packets would be lost."""
    netdev = found.netdevs.get(interface.name)
    if interface.bond is None or netdev is None or netdev.mtu != interface.mtu:
        return ""
    narrow = {port: found.netdevs[port].mtu for port in interface.bond.ports if port in found.netdevs and found.netdevs[port].mtu < netdev.mtu}
    text = (
        "%s: its MTU is %d, but the broadcast group limits %s to %d, and larger packets are lost: "
        "declare mtu: %d, or give the partition mtu: 4096 in opensm_partitions"
    )
    return text % (interface.name, netdev.mtu, ", ".join(narrow), min(narrow.values()), min(narrow.values())) if narrow else ""


def _unassigned(interface: Interface, found: Found) -> str:
    """The reason for a child whose partition the subnet manager has not assigned to the port: it is created, and waits for a carrier."""
    port = found.netdevs[interface.parent].port if interface.parent in found.netdevs else ""
    table = next((each.pkeys for each in found.ports if each.name == port), ())
    if not table or any(_wanted.same_partition(hexadecimal(pkey, 0), interface.pkey) for pkey in table):
        return ""
    text = "%s: the P_Key 0x%04x is not in the table of port %s (%s): no carrier until the subnet manager assigns it"
    return text % (interface.name, interface.pkey, port, ", ".join(table))


def fixed(interface: Interface, addresses: t.Iterable[str]) -> tuple[str, ...]:
    """The addresses of an interface without those that a DHCP server may have given to it. The kernel shows a lease that never ends as a fixed address."""
    return tuple(address for address in canonical(addresses) if not is_lent(interface, address))


def is_lent(interface: Interface, address: str) -> bool:
    """Whether the interface may have an address from a DHCP server."""
    return interface.dhcp and _wanted.version(address) == 4 and address not in canonical(interface.addresses)


def canonical(addresses: t.Iterable[str]) -> tuple[str, ...]:
    """Addresses in one spelling and order, for comparison."""
    return tuple(sorted(_wanted.parse_address(address) for address in addresses))


def reset_mtu(record: Record, netdev: Netdev) -> bool:
    """Whether removing our settings from an interface that stays leaves an MTU other than the kernel's default."""
    return netdev.mode == "connected" or (bool(record.mtu) and netdev.mtu != _wanted.KERNEL_MTU)


def child_text(parent: str, pkey: int) -> str:
    return "P_Key child 0x%04x of %s" % (pkey, parent)


def removal_changes(record: Record, netdev: Netdev | None) -> tuple[Change, ...]:
    """Undo our settings: bonds and children are deleted, parents get the kernel's defaults."""
    if netdev is None:
        return ()
    if netdev.kind == "bond":
        return (_change(record.name, "device", before="bond of %s" % (", ".join(sorted(netdev.members)) or "nothing"), after=""),)
    if netdev.parent:
        return (_change(record.name, "device", before=child_text(netdev.parent, hexadecimal(netdev.pkey, 0)), after=""),)
    stay = [address for address in canonical(netdev.addresses) if address not in canonical(record.addresses)]
    found: list[Change | None] = [_change(record.name, "addresses", before=", ".join(canonical(netdev.addresses)), after=", ".join(stay))]
    if netdev.mode == "connected":
        found.append(_change(record.name, "mode", before=netdev.mode, after=_wanted.KERNEL_MODE))
    if reset_mtu(record, netdev):
        found.append(_change(record.name, "mtu", before=str(netdev.mtu), after=str(_wanted.KERNEL_MTU)))
    if not stay:
        found.append(_change(record.name, "state", before="up" if netdev.up else "down", after="down"))
    return changes_of(*found)
