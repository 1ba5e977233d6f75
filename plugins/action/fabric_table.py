# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints the outcomes of fabric_check on all hosts of the play as one table. The module of the same name has the documentation."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._table import deviations_of, differences_of, foreseen, render, render_foreseen
from ansible_collections.rdma.ofed.plugins.module_utils._schema._fabric_table import OPTIONS
from ansible_collections.rdma.ofed.plugins.plugin_utils._actions import ControllerAction, registered, show


class ActionModule(ControllerAction):
    """Collects and prints; pure code makes the table."""

    options = OPTIONS

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        # All hosts of the play: those that failed or were unreachable belong in the table too.
        found = registered(task_vars, task_vars["ansible_play_hosts_all"], arguments["variable"])
        if arguments["foresee"]:
            deviations, differences = foreseen(found), []
            text = render_foreseen(found, deviations)
        else:
            deviations, differences = deviations_of(found), differences_of(found)
            text = render(found, deviations, differences)
        if text:
            show(text)
        return {"deviations": deviations, "differences": differences}
