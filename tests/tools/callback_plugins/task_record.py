# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records every task result of a run and every module that was executed on a host, for the tests."""

from __future__ import annotations

import json
import os
import pathlib
import time
import typing as t

from ansible import context
from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: task_record
type: notification
short_description: Write task results and module executions as lines of JSON
description:
  - Writes to the directory that the environment variable E(RDMA_RECORD) names, one file a run.
"""


def _append(path: str, event: t.Mapping[str, t.Any]) -> None:
    """Append a line with a single write: several worker processes write to the same file."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, (json.dumps(event, default=str) + "\n").encode())
    finally:
        os.close(handle)


def _record_modules(path: str) -> None:
    """Count modules at the one place that all of them pass, so that those run by action plugins count too.

    Callbacks are loaded before the first worker is forked, so the workers inherit the change.
    """
    original = ActionBase._execute_module

    def execute(self: t.Any, module_name: t.Any = None, *args: t.Any, **kwargs: t.Any) -> t.Any:
        task_vars = kwargs.get("task_vars") or (args[2] if len(args) > 2 else None) or {}
        _append(
            path,
            {
                "event": "module",
                "host": str(task_vars.get("inventory_hostname", "")),
                "module": str(module_name or self._task.action),
                "task": self._task.get_name(),
                "connection": str(self._connection.transport),
            },
        )
        return original(self, module_name, *args, **kwargs)

    ActionBase._execute_module = execute


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "task_record"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._play = ""
        self._path = ""

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        folder = os.environ.get("RDMA_RECORD", "")
        if not folder:
            return
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        name = pathlib.Path(playbook._file_name).stem
        mode = "check" if context.CLIARGS.get("check") else "run"
        self._path = os.path.join(folder, "%s-%s-%d.jsonl" % (name, mode, time.time_ns()))
        _append(self._path, {"event": "start", "playbook": name, "mode": mode})
        _record_modules(self._path)

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        self._play = play.get_name()

    def v2_runner_on_ok(self, result: t.Any) -> None:
        self._result("ok", result)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        self._result("ignored" if ignore_errors else "failed", result)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        self._result("unreachable", result)

    def _result(self, status: str, result: t.Any) -> None:
        if not self._path:
            return
        data = result._result
        task = result._task
        _append(
            self._path,
            {
                "event": "result",
                "status": status,
                "play": self._play,
                "host": result._host.get_name(),
                "task": task.get_name(),
                "action": task.action,
                "changed": bool(data.get("changed")),
                "changes": data.get("changes"),
                "msg": data.get("msg"),
                "wrong": data.get("wrong"),
            },
        )
