# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How systemd-networkd is notified of changed files."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Tools
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkd_backend import NetworkdDriver

RELOAD = ["networkctl", "reload"]
RESTART = ["systemctl", "restart", "systemd-networkd.service"]


@pytest.mark.parametrize(("status", "calls"), [(0, [RELOAD]), (1, [RELOAD, RESTART])])
def test_a_daemon_that_is_not_on_the_bus_is_restarted(status: int, calls: list[list[str]]) -> None:
    done: list[list[str]] = []

    def run(argv: list[str], ok: t.Any = (0,), timeout: float = 60) -> Output:
        done.append(argv)
        return Output(status if argv == RELOAD else 0, "", "Failed to reload network settings: Connection timed out\n" if status else "")

    tools: t.Any = Tools(t.cast("t.Any", run), t.cast("t.Any", None))
    NetworkdDriver(tools).forget(["/etc/systemd/network/50-rdma-ib0.network"])
    assert done == calls
