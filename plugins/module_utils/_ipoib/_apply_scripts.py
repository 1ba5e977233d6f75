# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""ifupdown, and Red Hat's network-scripts: ifup for what they do not have up, the kernel for what they have."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import UP_TIMEOUT, Driver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._ifcfg import to_start

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Target


class _ScriptsDriver(Driver):
    def _live(self, target: Target, netdev: Netdev, found: Look) -> None:
        """An interface that is up is changed under the feet of the scripts, without a bounce."""
        self._kernel.addresses(target, netdev)
        if not netdev.up:
            self._kernel.set_link(target.name, "up")
        self._kernel.routes(target, found.node.routes.get(target.name, ()))

    def _clear(self, target: Target, netdev: Netdev) -> None:
        # ifup fails on an address that is there already.
        for address in netdev.addresses:
            self._kernel.delete_address(target.name, address)


class IfupdownDriver(_ScriptsDriver):
    """ifupdown keeps a list of what it has up."""

    def give_up(self, names: t.Sequence[str], found: Look) -> None:
        for name in names:
            if name in found.ifupdown_up and self._run.has("ifdown"):
                self._run(["ifdown", "--force", name], ok=None)

    def apply(self, decision: Decision, changed: t.Sequence[str], found: Look) -> None:
        for target in decision.live:
            netdev = found.node.netdevs.get(target.name)
            if netdev is not None and target.name in found.ifupdown_up:
                self._live(target, netdev, found)
                continue
            if netdev is not None:
                self._clear(target, netdev)
            # Without --force a stale entry in ifupdown's list would make this do nothing.
            self._run(["ifup", "--force", target.name], timeout=UP_TIMEOUT)


class NetworkScriptsDriver(_ScriptsDriver):
    """network-scripts keep no list: what is up by a file of ours is changed as it is."""

    def give_up(self, names: t.Sequence[str], found: Look) -> None:
        for name in names:
            if name in found.node.netdevs and self._run.has("ifdown"):
                self._run(["ifdown", name], ok=None)

    def apply(self, decision: Decision, changed: t.Sequence[str], found: Look) -> None:
        started = to_start(decision.live)
        for target in decision.live:
            netdev = found.node.netdevs.get(target.name)
            if netdev is not None and netdev.up:
                self._live(target, netdev, found)
            elif target.name in started:
                if netdev is not None:
                    self._clear(target, netdev)
                self._run(["ifup", target.name], timeout=UP_TIMEOUT)
