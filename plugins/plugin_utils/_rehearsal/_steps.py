# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a rehearsal: first the state before the change, then the change, as the role makes it. Pure.

The program in the container carries the steps out. It knows the state of each subnet manager when its turn comes, and this does not.
"""

from __future__ import annotations

import typing as t

from ...module_utils._foreign import decimal
from ...module_utils._opensm._conf import CONF, RELOAD, RESTART, parse_conf, strongest, with_key
from ...module_utils._opensm._master import LOWEST
from ...module_utils._opensm._unit import file_effect

if t.TYPE_CHECKING:
    from ._declared import Manager

Step = t.Dict[str, t.Any]


class Steps:
    """Collects steps. `patience`: how long each of them waits, in seconds. `ids`: the name of each host in the container."""

    def __init__(self, ids: t.Mapping[str, str], patience: int) -> None:
        self._ids, self._patience = ids, patience
        self.running: dict[str, Manager] = {}
        self.found: list[Step] = []

    def _do(self, verb: str, host: str, **arguments: t.Any) -> None:
        self.found.append({"verb": verb, "manager": self._ids[host], **arguments})

    def _low(self, manager: Manager) -> dict[str, str]:
        return {CONF: with_key(manager.files[CONF], "sm_priority", LOWEST)}

    def _start(self, manager: Manager) -> None:
        """Start one. Beside others it joins with the lowest priority: a master would hand over to one that is not ready yet."""
        joins = bool(self.running) and decimal(parse_conf(manager.files[CONF]).get("sm_priority", ""), 0) > LOWEST
        self._do("write", manager.host, files={**manager.files, **(self._low(manager) if joins else {})})
        self._do("start", manager.host)
        self._do("join", manager.host, patience=self._patience)
        if joins:
            self._do("write", manager.host, files=dict(manager.files))
            self._do("reload", manager.host)
        self.running[manager.host] = manager

    def _leave(self, manager: Manager) -> None:
        """Let another one take over, where there is one, and stop."""
        if len(self.running) > 1:
            self._do("hand_over", manager.host, files=self._low(manager), patience=self._patience)
        self._do("stop", manager.host)
        del self.running[manager.host]

    def bring(self, manager: Manager) -> None:
        """Bring one to its files: start, reload or restart it, whatever these require."""
        now = self.running.get(manager.host)
        if now is None:
            self._start(manager)
            return
        effect = strongest(file_effect(name, now.files.get(name, ""), text) for name, text in manager.files.items())
        if effect == RESTART:
            self._leave(now)
            self._start(manager)
            return
        self._do("write", manager.host, files=dict(manager.files))
        if effect == RELOAD:
            self._do("reload", manager.host)
        self.running[manager.host] = manager

    def restart(self, manager: Manager) -> None:
        """Stop one, after another one has taken over, and start it again."""
        self._leave(manager)
        self._start(manager)

    def settle(self, host: str) -> None:
        self._do("settle", host, patience=self._patience)

    def retire(self, keep: t.Collection[str]) -> None:
        """Stop those that the state has no more."""
        for host in [host for host in self.running if host not in keep]:
            self._leave(self.running[host])

    def taken(self) -> list[Step]:
        """The steps since the last time."""
        found, self.found = self.found, []
        return found


def phases(
    before: t.Sequence[Manager], after: t.Sequence[Manager], *, ids: t.Mapping[str, str], patience: int, restart: bool = False
) -> list[dict[str, t.Any]]:
    """The steps to each of the two states. The designated manager is the first of each. `restart`: whether the change restarts all of the second."""
    steps = Steps(ids, patience)
    found = []
    for name, managers in (("before", before), ("after", after)):
        for number, manager in enumerate(managers):
            steps.bring(manager)
            if number == 0 and name == "before":
                steps.settle(manager.host)
        steps.retire([manager.host for manager in managers])
        # The role comes to the designated host last.
        for manager in reversed(managers) if restart and name == "after" else ():
            steps.restart(manager)
        steps.settle(managers[0].host)
        found.append({"name": name, "steps": steps.taken()})
    return found
