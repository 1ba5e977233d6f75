# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records what modules and shell commands answer on the nodes of a lab, for the connection `recorded`."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: answer_record
type: notification
short_description: Write the answers of nodes as lines of JSON
description:
  - Appends to the file that the environment variable E(RDMA_ANSWERS) names.
"""


_inside: list[str] = []
"""The module that runs in this worker: the commands that run it are part of it."""


def _record(path: str, method: str, name_of: t.Callable[..., str]) -> None:
    """Wrap a method of all actions. The workers inherit the change, because callbacks are loaded before the first one is forked."""
    original = getattr(ActionBase, method)

    def wrapped(self: t.Any, *args: t.Any, **kwargs: t.Any) -> t.Any:
        if _inside or self._connection.transport == "local":
            return original(self, *args, **kwargs)
        _inside.append(method)
        try:
            answer = original(self, *args, **kwargs)
        finally:
            _inside.pop()
        kept = {name: value for name, value in answer.items() if not name.startswith("_ansible") and name != "invocation"}
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps({"node": self._play_context.remote_addr, "what": name_of(self, *args, **kwargs), "answer": kept}, default=str) + "\n")
        return answer

    setattr(ActionBase, method, wrapped)


def _module(action: t.Any, module_name: t.Any = None, *_args: t.Any, **_kwargs: t.Any) -> str:
    return str(module_name or action._task.action).rpartition(".")[2]


def _shell(*_args: t.Any, **_kwargs: t.Any) -> str:
    return "shell"


class CallbackModule(CallbackBase):
    """Starts the recording."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "answer_record"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        if path := os.environ.get("RDMA_ANSWERS"):
            _record(path, "_execute_module", _module)
            _record(path, "_low_level_execute_command", _shell)
