# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""systemd-networkd: a reload, and where that does nothing, a word to single interfaces."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _generated
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import Driver

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision

ASPECTS = ("addresses", "routes", "state")


class NetworkdDriver(Driver):
    """networkd changes no bond that exists, and makes one with an MTU that keeps ports out: the kernel part makes it."""

    makes_bonds = False

    def forget(self, paths: t.Sequence[str]) -> None:
        if is_read(paths):
            self._reload()

    def apply(self, decision: Decision, changed: t.Sequence[str], found: Look) -> None:
        """A reload makes new children and configures the interfaces whose files it finds changed; others are told to."""
        # A child that somebody has deleted comes back when its parent is configured anew.
        orphaned = {target.parent for target in decision.live if target.is_child and decision.touches(target.name, ("device",))}
        astray = [
            target.name
            for target in decision.live
            if target.name in found.node.netdevs
            and not any(path.endswith(("-%s.network" % target.name, "-%s.network.d/50-rdma-ofed.conf" % target.name)) for path in changed)
            and (target.name in orphaned or decision.touches(target.name, ASPECTS))
        ]
        # Also without a change of files: the run that wrote them may have ended before it could say so.
        if orphaned or astray or is_read(changed):
            self._reload()
        if astray:
            self._run(["networkctl", "reconfigure", *astray])

    def _reload(self) -> None:
        """networkd 252, seen after a slow boot, may never get its name on the message bus. It reads its files at a restart
        as well, which leaves addresses where they are; a DHCP lease is asked for anew.
        """
        _generated.put_back(self._root)
        if self._run(["networkctl", "reload"], ok=None).rc:
            self._run(["systemctl", "restart", "systemd-networkd.service"])

    def nudge(self, again: Decision, found: Look) -> None:
        """Tell networkd once more; a child that is not there comes, if at all, with its parent.

        Whatever it answers, what is left to do in the end is the better message.
        """
        netdevs = found.node.netdevs
        late = [target for target in again.live if again.touches(target.name, ("device", *ASPECTS))]
        names = {target.name if target.name in netdevs else target.parent for target in late}
        there = sorted(name for name in names if name in netdevs)
        if there:
            self._run(["networkctl", "reconfigure", *there], ok=None)


def is_read(paths: t.Iterable[str]) -> bool:
    """Is one of the files networkd's?"""
    return any(path.endswith((".network", ".netdev", ".network.d/50-rdma-ofed.conf")) for path in paths)
