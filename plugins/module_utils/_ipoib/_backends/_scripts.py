# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What the drivers of shell scripts (ifup, ifdown) have in common."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import Driver

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface


class ScriptsDriver(Driver):
    def _live(self, interface: Interface, netdev: Netdev, found: Found) -> None:
        """Change an interface that is up without a bounce. The scripts are not involved."""
        self._kernel.addresses(interface, netdev)
        if not netdev.up:
            self._kernel.set_link(interface.name, "up")
        self._kernel.routes(interface, found.routes.get(interface.name, ()))

    def _clear(self, interface: Interface, netdev: Netdev) -> None:
        # ifup fails on an address that exists already.
        for address in netdev.addresses:
            self._kernel.delete_address(interface.name, address)
