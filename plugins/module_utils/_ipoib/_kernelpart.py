# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What is done to interfaces before their network stack is told: names, modes, MTUs and bonds."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import Driver
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._kernel import Kernel
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision


class KernelPart:
    """C(look) observes the node anew: what has been done to one interface shows in others."""

    def __init__(self, kernel: Kernel, look: t.Callable[[], Look]) -> None:
        self._kernel = kernel
        self._look = look

    def prepare(self, decision: Decision, found: Look, driver: Driver) -> Look:
        """Returns the node as it is after that."""
        for naming in decision.renames:
            self._kernel.rename(naming.current, naming.name)
        if decision.renames:
            found = self._look()
        if not driver.kernel_first:
            return found
        if self._leave(decision, found) or (not driver.makes_bonds and self._children(decision, found)):
            found = self._look()
        # Ports before bonds: a bond can have the MTU that all of its ports can have.
        for target in decision.live:
            if target.bond is None and target.name in found.node.netdevs:
                self._kernel.mode_and_mtu(target, found.node.netdevs[target.name])
        return self._look() if self._bonds(decision, found, driver) else found

    def _leave(self, decision: Decision, found: Look) -> bool:
        """Take ports out of bonds that are not theirs any more."""
        left = False
        for target in decision.live:
            netdev = found.node.netdevs.get(target.name)
            if netdev is not None and netdev.master and netdev.master != target.master:
                self._kernel.leave(target.name)
                left = True
        return left

    def _children(self, decision: Decision, found: Look) -> bool:
        """Children that a bond needs, of parents whose mode does not matter to them."""
        missing = [target for target in decision.live if target.is_child and target.master and target.name not in found.node.netdevs]
        for target in missing:
            self._kernel.add_child(target)
        return bool(missing)

    def _bonds(self, decision: Decision, found: Look, driver: Driver) -> bool:
        done = False
        for target in decision.live:
            netdev = found.node.netdevs.get(target.name)
            if target.bond is None or (netdev is None and driver.makes_bonds):
                continue
            if decision.touches(target.name):
                self._kernel.bond(target, netdev, found.node.bonds.get(target.name), found.node.netdevs)
                done = True
        return done
