# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What bonds and their ports have in common, on every network stack. Pure.

The kernel destroys a bond of IPoIB ports together with the last of them, as when the driver is reloaded. NetworkManager
makes it anew by itself; systemd-networkd and ifupdown don't: it is for whoever applies to ask for it again.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Target

# Of a bond whose MTU was left open: the kernel would make it with Ethernet's 1500 and force that on its ports.
OPEN_MTU = {"connected": _wanted.MTU_MAX["connected"], "datagram": _wanted.KERNEL_MTU}


def levelled(targets: t.Sequence[Target]) -> tuple[Target, ...]:
    """The same interfaces, where every bond has an MTU, and its ports the same one and the bond as their master."""
    bonds = {}
    for target in targets:
        if target.bond is not None:
            bonds[target.name] = target._replace(mtu=target.mtu or OPEN_MTU[target.mode])
    masters = {port: bond for bond in bonds.values() if bond.bond is not None for port in bond.bond.ports}
    return tuple(bonds.get(target.name) or _port(target, masters.get(target.name)) for target in targets)


def _port(target: Target, bond: Target | None) -> Target:
    return target if bond is None else target._replace(master=bond.name, mtu=bond.mtu)


def is_primary(target: Target, targets: t.Sequence[Target]) -> bool:
    """Is C(target) the preferred port of its bond?"""
    return any(other.bond is not None and other.name == target.master and other.bond.primary == target.name for other in targets)
