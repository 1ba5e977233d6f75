# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records the duration of runs and of the package installations in them."""

from __future__ import annotations

import json
import os
import pathlib
import time
import typing as t

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: time_record
type: notification
short_description: Write the seconds of playbook runs and of package installations as lines of JSON
description:
  - Appends to the file that the environment variable E(RDMA_TIMES) names, and does nothing without it. Everything on the path of callbacks is
    loaded, so runs count that enable no callback.
"""

INSTALLERS = ("packages", "driver_stack", "apt", "apt_repository", "dnf", "package", "zypper")
AD_HOC = "__adhoc_playbook__"


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "time_record"
    CALLBACK_NEEDS_ENABLED = False

    def __init__(self) -> None:
        super().__init__()
        self._path = os.environ.get("RDMA_TIMES", "")
        self._name = ""
        self._begun = 0.0
        self._tasks: t.Dict[t.Tuple[str, str], float] = {}

    def _append(self, kind: str, name: str, begun: float) -> None:
        if self._path:
            line = json.dumps({"kind": kind, "name": name, "seconds": round(time.monotonic() - begun, 1)})
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(handle, (line + "\n").encode())
            finally:
                os.close(handle)

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        self._name = pathlib.Path(playbook._file_name).stem
        self._begun = time.monotonic()

    def v2_runner_on_start(self, host: t.Any, task: t.Any) -> None:
        self._tasks[task._uuid, host.get_name()] = time.monotonic()

    def v2_runner_on_ok(self, result: t.Any) -> None:
        begun = self._tasks.pop((result._task._uuid, result._host.get_name()), None)
        action = result._task.action.rpartition(".")[2]
        if begun is not None and action in INSTALLERS and result._result.get("changed") and not result._task.check_mode:
            self._append("packages", action, begun)

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        self._append("module" if self._name == AD_HOC else "play", self._name, self._begun)
