# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print what is known about all hosts of the play. The module of the same name has the documentation."""

from __future__ import annotations

import typing as t

from ..module_utils._schema._report import OPTIONS
from ..plugin_utils import _looks
from ..plugin_utils._actions import ControllerAction, host_of
from ..plugin_utils._end_of_run import keep_failure
from ..plugin_utils._tables import _discovery, _gpus, _jobs, _nodes, _pairs, _pending, _refusals, _rehearsal, _summary, _support

_KINDS = {
    "discovery": _discovery.answer,
    "gpus": _gpus.answer,
    "jobs": _jobs.answer,
    "nodes": _nodes.answer,
    "pairs": _pairs.answer,
    "pending": _pending.answer,
    "refusals": _refusals.answer,
    "rehearsal": _rehearsal.answer,
    "summary": _summary.answer,
    "support": _support.answer,
}
# Former module names, from which meta/runtime.yml redirects.
_FORMER = {
    "fabric_table": "nodes",
    "pair_table": "pairs",
    "pending_table": "pending",
    "refusal_table": "refusals",
    "run_summary": "summary",
    "support_archive": "support",
}


class ActionModule(ControllerAction):
    """Collects and prints; pure code creates the tables."""

    options = OPTIONS

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        former = _FORMER.get(str(self._task.action).rpartition(".")[2])
        if former:
            self._task.args = {"kind": former, **self._task.args}
        return super().work(task_vars)

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        if arguments["once_all_arrived"]:
            keep_failure(host_of(task_vars), task_vars, arguments["failures"])
            hosts = [str(host) for host in task_vars["ansible_play_hosts"]]
            if not _looks.all_arrived(str(self._task._uuid), host_of(task_vars), hosts):
                return {"skipped": True}
        return _KINDS[arguments["kind"]](arguments, task_vars, bool(self._task.check_mode))
