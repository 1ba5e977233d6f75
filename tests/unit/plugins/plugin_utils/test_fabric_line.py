# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The manager of a fabric when the command line names the fabric for all hosts; no inventory makes the evaluation fail."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.plugin_utils._managers import line_of

BOTH: dict[str, t.Any] = {"rdma_fabrics": {"ib": ["mlx5_0/1"], "storage": ["mlx5_1/1"]}}
STANDBY = {"opensm_standby": True}


@pytest.mark.parametrize(
    ("hosts", "fabric", "line"),
    [
        ({"node2": {}, "node1": STANDBY, "node3": STANDBY}, "ib", ["node2", "node1", "node3"]),
        # node2 is not a standby, so it is not in the line.
        ({"node1": {}, "node2": {}}, "ib", ["node1"]),
        ({}, "ib", []),
        ({"node1": {}}, "storage", []),
        ({"node1": {"fabric": "storage"}, "node2": {**STANDBY, "fabric": "storage"}}, "storage", ["node1", "node2"]),
        # As with -e fabric=storage.
        ({"node1": {**BOTH, "fabric": "storage"}, "node2": {"rdma_fabrics": {"ib": []}, "fabric": "storage"}}, "storage", ["node1"]),
        ({"node1": {"rdma_fabrics": 4}, "node2": {}}, "ib", ["node2"]),
    ],
)
def test_the_line_of_a_fabric(hosts: dict[str, t.Any], fabric: str, line: list[str]) -> None:
    assert line_of({"opensm": list(hosts)}, hosts, fabric) == line
    assert line_of({}, {}, fabric) == []
