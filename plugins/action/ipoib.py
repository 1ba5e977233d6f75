# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module ipoib where something is to be done, and verify over a new connection that a change has not cut the node off.

The documentation is in the module of the same name.
"""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..module_utils._ipoib._concern import CONCERN
from ..plugin_utils._actions import PlannedAction

UNPROVEN = (
    "no new connection has confirmed the change, so the node reverts it %d s after its start: %s. Next: set ansible_host to an address that the change "
    "leaves in place, or run over another interface"
)


class ActionModule(PlannedAction):
    """Executes no module on a node that is as declared, and two where a timer has to be stopped."""

    concern = CONCERN

    def _visit(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        try:
            result = super()._visit(task_vars)
        except AnsibleConnectionFailure as exc:
            # The progress of the module is unknown. The value may not be a number: the module reports a wrong one.
            seconds = str(self._task.args.get("rollback_timeout") or 0)
            if seconds == "0":
                raise
            raise AnsibleConnectionFailure("%s. If a change cut the connection, the node reverts it automatically within %s s" % (exc, seconds)) from exc
        rollback = result.get("rollback")
        if not rollback or result.get("failed"):
            return result
        # A reply over the old connection would prove nothing: it may work while new connections fail.
        try:
            self._connection.reset()
            answer = self._execute_module(module_name="rdma.ofed.ipoib", module_args={"confirm": rollback["unit"]}, task_vars=task_vars)
        except AnsibleConnectionFailure as exc:
            answer = {"failed": True, "msg": "the node could not be reached over a new connection (%s)" % exc}
        result["rollback"] = {**rollback, "confirmed": not answer.get("failed")}
        if answer.get("failed"):
            result.update(failed=True, msg=UNPROVEN % (rollback["seconds"], answer.get("msg", "")))
        return result
