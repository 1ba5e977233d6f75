# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide on the controller which host of a play does what. The module of the same name has the documentation."""

from __future__ import annotations

import typing as t

from ..module_utils._schema._arrange import OPTIONS
from ..plugin_utils._actions import ControllerAction
from ..plugin_utils._arranged import _batches, _firmware, _gpus, _jobs, _pairs, _pending, _rehearsal, _subnet_managers
from ..plugin_utils._inventory import inventory_of
from ..plugin_utils._managers import reading

_KINDS: t.Mapping[str, t.Callable[..., t.Dict[str, t.Any]]] = {
    "batches": _batches.answer,
    "firmware": _firmware.answer,
    "gpus": _gpus.answer,
    "jobs": _jobs.answer,
    "pairs": _pairs.answer,
    "pending": _pending.answer,
    "rehearsal": _rehearsal.answer,
    "subnet_managers": _subnet_managers.answer,
}
# Former module names, from which meta/runtime.yml redirects.
_FORMER = {"rolling_batches": "batches"}


class ActionModule(ControllerAction):
    """Collects what is known about the hosts; pure code decides."""

    options = OPTIONS

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        former = _FORMER.get(str(self._task.action).rpartition(".")[2])
        if former:
            self._task.args = {"kind": former, **self._task.args}
        return super().work(task_vars)

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        with reading():
            if arguments["after"]:
                changed = inventory_of(arguments["after"], self._loader)
                return _rehearsal.answer(arguments, task_vars, self._templar, changed=changed)
            return _KINDS[arguments["kind"]](arguments, task_vars, self._templar)
