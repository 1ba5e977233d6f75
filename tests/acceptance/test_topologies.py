# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A larger fabric: from bare nodes to provisioned and checked, and nothing to do the second time. Two nodes are in molecule/stacks."""

from __future__ import annotations

import pytest
import records
from cluster import Cluster
from conftest import converge


@pytest.mark.long
def test_sixteen_nodes_converge() -> None:
    cluster = Cluster("rdma-16-nodes")
    try:
        cluster.command("up", "--topology", "16-nodes")
        first = converge(cluster)
        second = converge(cluster)
        assert records.changes(second.events) == {}
        print("first run %.0f s, second %.0f s" % (first.seconds, second.seconds))
    finally:
        cluster.command("down")
