# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What bonds and their ports have in common, whatever the back-end. Pure.

The kernel destroys a bond of IPoIB ports together with the last of them, as when the driver is reloaded. Some back-ends
make it again by themselves; for the others, the driver has to.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface

# Of a bond whose MTU was left open: the kernel would make it with Ethernet's 1500 and force that on its ports.
OPEN_MTU = {"connected": _wanted.MTU_MAX["connected"], "datagram": _wanted.KERNEL_MTU}


def levelled(interfaces: t.Sequence[Interface]) -> tuple[Interface, ...]:
    """The same interfaces, where every bond has an MTU, and its ports the same one and the bond as their master."""
    bonds = {}
    for interface in interfaces:
        if interface.bond is not None:
            bonds[interface.name] = interface._replace(mtu=interface.mtu or OPEN_MTU[interface.mode])
    masters = {port: bond for bond in bonds.values() if bond.bond is not None for port in bond.bond.ports}
    return tuple(bonds.get(interface.name) or _port(interface, masters.get(interface.name)) for interface in interfaces)


def _port(interface: Interface, bond: Interface | None) -> Interface:
    return interface if bond is None else interface._replace(master=bond.name, mtu=bond.mtu)


def is_primary(interface: Interface, interfaces: t.Sequence[Interface]) -> bool:
    """Whether `interface` is the preferred port of its bond."""
    return any(other.bond is not None and other.name == interface.master and other.bond.primary == interface.name for other in interfaces)
