# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Whether a port can do connected mode, also before ib_ipoib is loaded and there is an interface to look at."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, link_name

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port

# The one adapter on mlx5_core that is older than Enhanced IPoIB.
_CONNECT_IB = "MT4113"
_ENHANCED = ("mlx5_core", "mlx5_core.sf")
_CLASSIC = ("mlx4_core", "ib_mthca", "ib_qib")


class Capability(t.NamedTuple):
    """The answer and how it is known; None where only the loaded ib_ipoib will tell."""

    capable: bool | None
    reason: str


def of_driver(driver: str, hca_type: str, refused: str = "") -> Capability:
    """What the driver of an InfiniBand port is known to do. `refused` is `_stack.connected_refused`."""
    if refused:
        return Capability(False, refused)
    if driver in _CLASSIC or hca_type == _CONNECT_IB:
        return Capability(True, "adapters on %s (%s) do connected mode" % (driver, hca_type))
    if driver in _ENHANCED:
        return Capability(False, "adapters on %s (%s) use Enhanced IPoIB, which is datagram only" % (driver, hca_type))
    return Capability(None, "not known for driver %s before ib_ipoib is loaded" % (driver or "(none)"))


def port_capability(port: Port, netdevs: t.Sequence[Netdev], *, driver: str, hca_type: str, refused: str = "") -> Capability:
    """The capability of a port: that of its interface, or of its driver while there is no interface."""
    if not port.infiniband:
        return Capability(False, "its link layer is %s, and IPoIB needs InfiniBand" % port.link_layer)
    for netdev in netdevs:
        if netdev.kind == "ipoib" and netdev.port == port.name:
            return Capability(netdev.connected_capable, "%s: %s" % (netdev.name, netdev.connected_reason))
    return of_driver(driver, hca_type, refused)


def with_capability(ports: t.Sequence[Port], netdevs: t.Sequence[Netdev], *, refused: str = "", root: str = "/") -> tuple[Port, ...]:
    """The ports with what is known about connected mode."""
    found = []
    for port in ports:
        base = os.path.join(root, "sys/class/infiniband", port.device)
        capability = port_capability(port, netdevs, driver=link_name(base, "device/driver"), hca_type=attribute(base, "hca_type"), refused=refused)
        found.append(port._replace(connected_capable=capability.capable, connected_reason=capability.reason))
    return tuple(found)
