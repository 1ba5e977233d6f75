# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What carries the traffic of virtual machines and containers over an RDMA adapter: bridges, switches, interfaces on top, virtual functions."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import over_rdma
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import PCI_ADDRESS, attribute, entries, number

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev

_DRIVERS = ("mlx4_core", "mlx5_core")
# The master of all ports of Open vSwitch (`ovs_netdev_link` in net/openvswitch/vport-netdev.c).
_OPEN_VSWITCH = "ovs-system"


def read_tap_devices(root: str = "/") -> frozenset[str]:
    """The interfaces with a program at their other end, as a rule a virtual machine (`tun_flags` in drivers/net/tun.c)."""
    base = os.path.join(root, "sys/class/net")
    return frozenset(name for name in entries(base) if os.path.exists(os.path.join(base, name, "tun_flags")))


def read_virtual_functions(root: str = "/") -> tuple[tuple[int, str], ...]:
    """How many virtual functions each PCI function of an RDMA adapter has, where it has any."""
    functions = [pci for driver in _DRIVERS for pci in entries(root, "sys/bus/pci/drivers", driver) if PCI_ADDRESS.match(pci)]
    counts = [(number(attribute(root, "sys/bus/pci/devices", pci, "sriov_numvfs")) or 0, pci) for pci in sorted(functions)]
    return tuple(found for found in counts if found[0])


def _bridge(netdev: Netdev, netdevs: t.Sequence[Netdev], taps: t.Collection[str]) -> tuple[str, str, tuple[str, ...]] | None:
    ours = tuple(name for name in netdev.members if over_rdma(name, netdevs))
    others = ["%s (a virtual machine)" % name if name in taps else name for name in netdev.members if name not in ours]
    if not ours or not (others or netdev.name == _OPEN_VSWITCH):
        return None
    switch = "ports of Open vSwitch:" if netdev.name == _OPEN_VSWITCH else "a bridge with"
    between = "%s and %s" % (", ".join(ours), ", ".join(others)) if others else ", ".join(ours)
    return netdev.name, "%s %s" % (switch, between), ours


def carrying(netdevs: t.Sequence[Netdev], taps: t.Collection[str] = ()) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Bridges between an RDMA adapter and others, and macvlan, ipvlan or tunnels on top of one: name, words, and the adapter's interfaces."""
    found = []
    for netdev in netdevs:
        if netdev.kind == "bridge" or netdev.name == _OPEN_VSWITCH:
            bridge = _bridge(netdev, netdevs, taps)
            found += [bridge] if bridge else []
        elif netdev.kind == "other" and netdev.up and netdev.parent and over_rdma(netdev.parent, netdevs):
            found.append((netdev.name, "an interface on top of %s" % netdev.parent, (netdev.parent,)))
    return tuple(found)
