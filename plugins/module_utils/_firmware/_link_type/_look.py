# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the interfaces of a node, and at the connections that a change of link type must not cut."""

from __future__ import annotations

import os
import typing as t

from ..._facts._connections import read_ssh
from ..._facts._netdevs import seen_netdevs
from ..._facts._sockets import parse_route4, parse_route6
from ..._facts._sysfs import attribute, entries, pci_address
from ._plan import Network

if t.TYPE_CHECKING:
    from ..._host._run import Runner


def look(run: Runner, environ: t.Mapping[str, str], *, root: str = "/") -> Network:
    """The network of the node."""
    netdevs = seen_netdevs(run, root)
    routes = parse_route4(attribute(root, "proc/net/route")) + parse_route6(attribute(root, "proc/net/ipv6_route"))
    return Network(
        netdevs,
        {netdev.name: pci for netdev in netdevs for pci in [pci_address(root, "sys/class/net", netdev.name, "device")] if pci},
        {name: pci_address(root, "sys/class/infiniband", name, "device") for name in entries(root, "sys/class/infiniband")},
        # Every namespace has an IPv6 default route to the loopback device that rejects packets.
        frozenset(route.device for route in routes if route.network.prefixlen == 0 and route.device != "lo"),
        read_ssh(run, netdevs, environ, root=root, pid=os.getpid()).device,
    )
