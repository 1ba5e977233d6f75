# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""netplan: it writes files for its renderer, which is then told as if there were no netplan.

C(netplan apply) would restart the renderer and touch every interface of the node; C(netplan generate) touches none, if
what it writes is kept from being new (see _generated).
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _generated, _netplan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._apply_networkd import NetworkdDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._apply_networkmanager import NetworkManagerDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import Driver, Tools

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Target


class NetplanDriver(Driver):
    """C(targets) tell which profiles are netplan's and which are written beside it."""

    def __init__(self, tools: Tools, renderer: str, targets: t.Sequence[Target] = ()) -> None:
        super().__init__(tools)
        self._nm = renderer == _netplan.NETWORKMANAGER
        self._renderer: Driver = NetworkdDriver(tools)
        if self._nm:
            outside = _netplan.outside(targets)
            self._renderer = NetworkManagerDriver(tools, lambda name: ("id", "rdma-" + name if name in outside else "netplan-" + name))
        self.kernel_first = self._renderer.kernel_first
        self.makes_bonds = self._renderer.makes_bonds

    def give_up(self, names: t.Sequence[str], found: Look) -> None:
        self._renderer.give_up(names, found)

    def forget(self, paths: t.Sequence[str]) -> None:
        if _netplan.PATH in paths and self._run.has("netplan"):
            self._generate()
            self._renderer.forget(("/run/systemd/network/10-netplan.network",))

    def apply(self, decision: Decision, changed: t.Sequence[str], found: Look) -> None:
        # Also without a change of files: the run that wrote them may have ended before it could say so.
        self._generate()
        paths = list(changed)
        if _netplan.PATH in changed and not self._nm:
            # netplan has written these just now; those whose text is another are configured by the reload.
            paths.append("/run/systemd/network/10-netplan.network")
        self._renderer.apply(decision, paths, found)

    def _generate(self) -> None:
        _generated.put_aside(self._root)
        self._run(["netplan", "generate"])

    def busy(self, found: Look) -> bool:
        return self._renderer.busy(found)

    def nudge(self, again: Decision, found: Look) -> None:
        self._renderer.nudge(again, found)
