# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""wicked is told of files that are given back, and asks for consent before it takes over."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Tools
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._wicked_backend import WICKED
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found


def test_interfaces_are_set_up_by_the_files_that_were_given_back() -> None:
    argv: list[list[str]] = []

    def run(words: t.Sequence[str], ok: object = (0,), timeout: float = 60) -> Output:
        argv.append(list(words))
        return Output(0, "", "")

    tools = Tools(t.cast(t.Any, run), t.cast(t.Any, None))
    WICKED.drive(tools, Found()).give_back({"ib0": "", "bond0": ""}, Found())
    assert argv == [["wicked", "ifup", "ib0", "bond0"]]
    assert WICKED.interrupts(Found())
