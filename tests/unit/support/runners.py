# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runners of commands that answer without a command."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output


class Says:
    """One answer to all commands; remembers them. It has each of `tools`, or all."""

    def __init__(self, rc: int, stdout: str = "", stderr: str = "", tools: t.Optional[t.Collection[str]] = None) -> None:
        self.output = Output(rc, stdout, stderr)
        self.tools = tools
        self.calls: t.List[t.List[str]] = []

    @property
    def argv(self) -> t.List[str]:
        """The last one."""
        return self.calls[-1] if self.calls else []

    def __call__(self, argv: t.Sequence[str], ok: t.Optional[t.Collection[int]] = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        return self.output

    def has(self, tool: str) -> bool:
        return self.tools is None or tool in self.tools
