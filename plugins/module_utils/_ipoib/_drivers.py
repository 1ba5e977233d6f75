# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Which driver a network stack has on this node."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._apply_netplan import NetplanDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._apply_networkd import NetworkdDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._apply_networkmanager import NetworkManagerDriver, by_uuid
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._apply_scripts import IfupdownDriver, NetworkScriptsDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._apply_wicked import WickedDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import IFCFG, IFUPDOWN, NETPLAN, NETWORKD, NETWORKMANAGER, WICKED

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import Driver, Tools
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._stacks import Variant
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Target

_PLAIN: dict[str, type[Driver]] = {
    NETWORKD: NetworkdDriver,
    IFUPDOWN: IfupdownDriver,
    NETWORKMANAGER: NetworkManagerDriver,
    WICKED: WickedDriver,
}


def driver_of(name: str, tools: Tools, variant: Variant, targets: t.Sequence[Target]) -> Driver:
    if name == NETPLAN:
        return NetplanDriver(tools, variant.renderer, targets)
    if name == IFCFG:
        return NetworkManagerDriver(tools, by_uuid) if variant.nm is not None else NetworkScriptsDriver(tools)
    return _PLAIN[name](tools)
