# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runners that answer without running a command."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output


class Says:
    """Gives one answer to all commands and records them. It has only the given `tools`, or all tools."""

    def __init__(self, rc: int, stdout: str = "", stderr: str = "", tools: t.Optional[t.Collection[str]] = None) -> None:
        self.output = Output(rc, stdout, stderr)
        self.tools = tools
        self.calls: t.List[t.List[str]] = []

    @property
    def argv(self) -> t.List[str]:
        """Return the last command."""
        return self.calls[-1] if self.calls else []

    def __call__(self, argv: t.Sequence[str], ok: t.Optional[t.Collection[int]] = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        return self.output

    def has(self, tool: str) -> bool:
        return self.tools is None or tool in self.tools
