# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._discovery import read
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Reading


def reading(*states: str) -> Reading:
    ports: list[dict[str, t.Any]] = [
        {"name": "mlx5_%d/1" % number, "port": 1, "pci": "0000:0%d:00.0" % number, "link_layer": "InfiniBand", "state": state}
        for number, state in enumerate(states)
    ]
    return read(Subject("node1", facts={"ports": ports}))


def test_ports_that_need_not_be_active() -> None:
    found = reading("ACTIVE", "DOWN")
    assert [(value.variable, value.value) for value in found.values] == [("rdma_ports", ["0000:00:00.0/1"])]
    assert found.left[0].what == "port mlx5_1/1 (0000:01:00.0/1), which is not active"


def test_all_and_none() -> None:
    assert reading("ACTIVE", "ACTIVE") == Reading()
    assert reading("DOWN").dangers == ["no InfiniBand port is active"]
    assert reading() == Reading((), (), [])
