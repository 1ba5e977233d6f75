# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The site with each older ansible-core that distributions package: provisioned from bare nodes, then removed by the next version."""

from __future__ import annotations

import pytest
import records
import virtualenvs
from cluster import Cluster
from conftest import converge
from proofs import REAL

pytestmark = pytest.mark.long


@pytest.mark.proves("controllers", debian12=REAL)
def test_older_controllers_check_converge_and_remove() -> None:
    cluster = Cluster("rdma-controllers")
    try:
        cluster.command("up", "--topology", "2-nodes")
        for number, version in enumerate(virtualenvs.CORES):
            cluster.programs = virtualenvs.core(version) / "bin"
            if number:
                removal = cluster.play("remove", "-e", "rdma_remove=true")
                assert removal.status == 0, removal.output
            predicted, done, again = converge(cluster, "--check", "--diff"), converge(cluster), converge(cluster)
            assert records.changes(done.events)
            assert records.differences(predicted.events, done.events) == []
            assert records.changes(again.events) == {}
    finally:
        cluster.command("down")
