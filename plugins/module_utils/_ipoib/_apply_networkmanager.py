# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""NetworkManager: load what has changed, and activate only what can't be changed as it is.

Ports of bonds are never activated: one that is leaves its bond and enters it again without end (seen with 1.42). Their
bond brings them.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _ifcfg, _networkmanager, _nmcli
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import UP_TIMEOUT, Driver, Tools

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Target

# What no running interface takes without being activated anew.
HARD = ("device", "mode", "bond", "bonding_mode", "fail_over_mac", "miimon", "ports", "primary")
SOFT = ("addresses", "routes", "mtu", "state")


class NetworkManagerDriver(Driver):
    """C(calls) says how nmcli calls the profile of an interface: C((id, rdma-ib0)), C((uuid, ...))."""

    kernel_first = False

    def __init__(self, tools: Tools, calls: t.Callable[[str], tuple[str, str]] | None = None) -> None:
        super().__init__(tools)
        self._calls = calls or _by_id

    def give_up(self, names: t.Sequence[str], found: Look) -> None:
        """Deactivating stops what would bring the interface back. The mode and the MTU it leaves to others."""
        for name in names:
            active = found.nm_active.get(name)
            if active is not None and self._is_ours(name, active):
                self._run(["nmcli", "connection", "down", "uuid", active.uuid], ok=None, timeout=UP_TIMEOUT)

    def _is_ours(self, name: str, active: _nmcli.Active) -> bool:
        kind, value = self._calls(name)
        return value == (active.uuid if kind == "uuid" else active.name)

    def forget(self, paths: t.Sequence[str]) -> None:
        """Where NetworkManager does not run any more, there is nobody to tell."""
        if self._run.has("nmcli"):
            self._run(["nmcli", "general", "reload", "conf"], ok=None)
            self._run(["nmcli", "connection", "reload"], ok=None)

    def apply(self, decision: Decision, changed: t.Sequence[str], found: Look) -> None:
        if _networkmanager.CARRIER_PATH in changed:
            self._run(["nmcli", "general", "reload", "conf"], ok=None)
        # Also without a change of files: the run that wrote them may have ended before it could say so.
        self._run(["nmcli", "connection", "reload"])
        active = _nmcli.read_active(self._run)
        for target in decision.live:
            if not target.master:
                self._bring(target, decision, active.get(target.name))

    def _bring(self, target: Target, decision: Decision, active: _nmcli.Active | None) -> None:
        ports = target.bond.ports if target.bond is not None else ()
        hard = decision.touches(target.name, HARD) or any(decision.touches(port, (*HARD, "state")) for port in ports)
        if active is not None and self._is_ours(target.name, active) and not hard:
            soft = decision.touches(target.name, SOFT) or any(decision.touches(port, ("mtu",)) for port in ports)
            if not soft or self._run(["nmcli", "device", "reapply", target.name], ok=None, timeout=UP_TIMEOUT).rc == 0:
                return
        self._up(target.name)

    def _up(self, name: str, ok: t.Collection[int] | None = (0,)) -> None:
        self._run(["nmcli", "--wait", "60", "connection", "up", *self._calls(name)], ok=ok, timeout=UP_TIMEOUT)

    def busy(self, found: Look) -> bool:
        return any(active.activating and self._is_ours(name, active) for name, active in found.nm_active.items())

    def nudge(self, again: Decision, found: Look) -> None:
        bonds = {target.master for target in again.live if target.master and again.touches(target.name, (*HARD, *SOFT))}
        for target in again.live:
            if not target.master and (target.name in bonds or again.touches(target.name, (*HARD, *SOFT))):
                self._up(target.name, None)


def _by_id(name: str) -> tuple[str, str]:
    return "id", _networkmanager.connection_id(name)


def by_uuid(name: str) -> tuple[str, str]:
    """How profiles from ifcfg files are called: their names are those of the interfaces, and may be others' too."""
    return "uuid", _ifcfg.uuid_of(name)
