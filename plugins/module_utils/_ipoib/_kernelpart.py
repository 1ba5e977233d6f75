# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What is done to interfaces before their back-end is told: names, modes, MTUs and bonds."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import Driver
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._kernel import Kernel
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import IpoibPlan


class KernelPart:
    """`look` looks at the node again: what has been done to one interface shows in others."""

    def __init__(self, kernel: Kernel, look: t.Callable[[], Found]) -> None:
        self._kernel = kernel
        self._look = look

    def prepare(self, todo: IpoibPlan, found: Found, driver: Driver) -> Found:
        """Returns the node as it is after that."""
        for naming in todo.renames:
            self._kernel.rename(naming.current, naming.name)
        if todo.renames:
            found = self._look()
        if not driver.kernel_first:
            return found
        if self._leave(todo, found) or (not driver.makes_bonds and self._children(todo, found)):
            found = self._look()
        # Ports before bonds: a bond can have the MTU that all of its ports can have.
        for interface in todo.live:
            if interface.bond is None and interface.name in found.netdevs:
                self._kernel.mode_and_mtu(interface, found.netdevs[interface.name])
        return self._look() if self._bonds(todo, found, driver) else found

    def _leave(self, todo: IpoibPlan, found: Found) -> bool:
        """Take ports out of bonds that they shall leave."""
        left = False
        for interface in todo.live:
            netdev = found.netdevs.get(interface.name)
            if netdev is not None and netdev.master and netdev.master != interface.master:
                self._kernel.leave(interface.name)
                left = True
        return left

    def _children(self, todo: IpoibPlan, found: Found) -> bool:
        """Children that a bond needs, of parents whose mode does not matter to them."""
        missing = [interface for interface in todo.live if interface.is_child and interface.master and interface.name not in found.netdevs]
        for interface in missing:
            self._kernel.add_child(interface)
        return bool(missing)

    def _bonds(self, todo: IpoibPlan, found: Found, driver: Driver) -> bool:
        done = False
        for interface in todo.live:
            netdev = found.netdevs.get(interface.name)
            if interface.bond is None or (netdev is None and driver.makes_bonds):
                continue
            if todo.touches(interface.name):
                self._kernel.bond(interface, netdev, state=found.bonds.get(interface.name), netdevs=found.netdevs)
                done = True
        return done
