# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module ipoib, and after a change that might have cut the connection proves over a new one that it has not.

The documentation is in the module of the same name.
"""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

MODULE = "rdma.ofed.ipoib"
UNPROVEN = (
    "no new connection has proved the change, so the node takes it back %d s after its beginning: %s. "
    "Next: let ansible_host be an address that the change leaves in place, or run over another interface"
)


class ActionModule(ActionBase):
    """One module execution; two where there is a timer to be stopped."""

    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        try:
            result.update(self._execute_module(module_name=MODULE, module_args=self._task.args, task_vars=task_vars, wrap_async=self._task.async_val))
        except AnsibleConnectionFailure as exc:
            # Nobody knows how far it has come. A number only by then: a wrong value is the module's to report.
            seconds = str(self._task.args.get("rollback_timeout") or 0)
            if seconds == "0":
                raise
            raise AnsibleConnectionFailure(
                "%s. If it was a change that cut the connection, the node takes it back by itself within %s s" % (exc, seconds)
            ) from exc
        rollback = result.get("rollback")
        if not rollback or result.get("failed"):
            return result
        # What is asked over the old connection would prove nothing: it may be answered though no new one can be made.
        try:
            self._connection.reset()
            answer = self._execute_module(module_name=MODULE, module_args={"confirm": rollback["unit"]}, task_vars=task_vars)
        except AnsibleConnectionFailure as exc:
            answer = {"failed": True, "msg": "the node could not be reached over a new connection (%s)" % exc}
        result["rollback"] = {**rollback, "confirmed": not answer.get("failed")}
        if answer.get("failed"):
            result.update(failed=True, msg=UNPROVEN % (rollback["seconds"], answer.get("msg", "")))
        return result
