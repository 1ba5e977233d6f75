# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fabrics of other sizes: from bare nodes to verified, and nothing to do the second time."""

from __future__ import annotations

import pytest
import records
from cluster import Cluster
from conftest import converge


@pytest.mark.parametrize("topology", ["2-nodes", "16-nodes"])
def test_another_topology_converges_and_verifies(topology: str) -> None:
    cluster = Cluster("rdma-%s" % topology)
    try:
        cluster.command("up", "--topology", topology)
        first = converge(cluster)
        second = converge(cluster)
        assert records.changes(second.events) == {}
        run = cluster.play("verify")
        assert run.status == 0, run.output
        print("%s: first run %.0f s, second %.0f s, verify %.0f s" % (topology, first.seconds, second.seconds, run.seconds))
    finally:
        cluster.command("down")
