# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module ipoib_network where something is to be done. The documentation is in the module of the same name."""

from __future__ import annotations

import typing as t

from ..module_utils._ipnet._concern import CONCERN
from ..module_utils._ipnet._wanted import AUTO, counted
from ..module_utils._plain import plain
from ..plugin_utils._actions import PlannedAction, value_of


class ActionModule(PlannedAction):
    """Knows the size of the inventory, and executes no module on a node that has all settings."""

    concern = CONCERN

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        neighbours = plain(self._task.args.get("neighbours", AUTO))
        number = counted(neighbours, task_vars.get("groups") or {}, value_of("rdma_hosts", task_vars, self._templar))
        self._task.args = {**self._task.args, "neighbours": number}
        return super().work(task_vars)
