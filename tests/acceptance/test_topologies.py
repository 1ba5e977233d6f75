# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A larger fabric: provisioned from bare nodes, checked, and unchanged by the second run. molecule/stacks covers two nodes."""

from __future__ import annotations

import json
import pathlib

import pytest
import records
from cluster import Cluster
from conftest import converge
from proofs import REAL


@pytest.mark.long
@pytest.mark.proves("scale", "unchanged", "fabric", debian12=REAL)
def test_sixteen_nodes_converge_and_their_fabric_is_right(tmp_path: pathlib.Path) -> None:
    cluster = Cluster("rdma-16-nodes")
    try:
        cluster.command("up", "--topology", "16-nodes")
        first = converge(cluster)
        second = converge(cluster)
        assert records.changes(second.events) == {}
        # A clean fabric has no finding; test_quick_start.py checks that for 3 nodes.
        judged = cluster.play("fabric", "-e", "fabric_report_dir=%s" % tmp_path)
        assert judged.status == 0, judged.output
        assert json.loads((tmp_path / "ib-findings.json").read_text(encoding="utf-8"))["findings"] == []
        print("first run %.0f s, second %.0f s" % (first.seconds, second.seconds))
    finally:
        cluster.command("down")
