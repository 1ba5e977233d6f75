# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module gpudirect on nodes with a GPU. The documentation is in the module of the same name."""

from __future__ import annotations

import typing as t

from ..module_utils._gpudirect._concern import CONCERN
from ..module_utils._gpudirect._input import assumed
from ..module_utils._plain import plain
from ..module_utils._schema._gpudirect import OPTIONS
from ..plugin_utils._actions import FactsAction


class ActionModule(FactsAction):
    """Executes no module on a node where nothing is to be done."""

    concern = CONCERN
    options = OPTIONS

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        arguments = dict(self._task.args)
        outcome = plain(arguments.get("stack_outcome"))
        # The module reports a malformed value.
        if isinstance(outcome, dict):
            del arguments["stack_outcome"]
            self._task.args = {**assumed(outcome), **arguments}
        return super().work(task_vars)
