# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""wicked: C(ifreload) compares the files with what runs, and changes what differs."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wicked
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import UP_TIMEOUT, Driver

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision


class WickedDriver(Driver):
    """wicked sets modes, makes children and bonds, all by itself."""

    kernel_first = False

    def give_up(self, names: t.Sequence[str], found: Look) -> None:
        there = [name for name in names if name in found.node.netdevs]
        if there and self._run.has("wicked"):
            self._run(["wicked", "ifdown", *there], ok=None, timeout=UP_TIMEOUT)

    def apply(self, decision: Decision, changed: t.Sequence[str], found: Look) -> None:
        names = self._late(decision, changed)
        if names:
            self._run(["wicked", "ifreload", *names], timeout=UP_TIMEOUT)

    @staticmethod
    def _late(decision: Decision, changed: t.Sequence[str]) -> list[str]:
        """The interfaces of which a file or the state differs; a bond stands for its ports."""

        def is_late(name: str) -> bool:
            return decision.touches(name) or any(_wicked.path_of(name, kind) in changed for kind in ("ifcfg", "ifroute", "ifsysctl"))

        late = {target.master or target.name for target in decision.live if is_late(target.name)}
        return [name for name in _wicked.to_start(decision.live) if name in late]

    def nudge(self, again: Decision, found: Look) -> None:
        names = self._late(again, ())
        if names:
            self._run(["wicked", "ifup", *names], ok=None, timeout=UP_TIMEOUT)
