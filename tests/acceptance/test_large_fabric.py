# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fabric with 2,000 ports of hosts: what the roles do on a node takes no longer for it, but for what opensm's own sweep takes."""

from __future__ import annotations

import datetime
import pathlib
import re

import records
from cluster import Cluster, Run
from conftest import converge

PORTS = 2000
# Two runs of the same kind differ by that much on a machine with other work.
NOISE_SECONDS = 6
_STAMP = re.compile(r"^(\w{3} \d\d \d\d:\d\d:\d\d) (\d{6}) ")


def moment(line: str) -> datetime.datetime:
    found = _STAMP.match(line)
    assert found, line
    # The log has no year, and a leap day needs one.
    return datetime.datetime.strptime("2024 %s.%s" % found.groups(), "%Y %b %d %H:%M:%S.%f")


def sweep_seconds(cluster: Cluster) -> float:
    """From the start of opensm to its first complete sweep, as its log has it."""
    lines = cluster.shell("node1", "cat /var/log/opensm/ib/opensm.log").stdout.splitlines()
    up = next(number for number, line in enumerate(lines) if "SUBNET UP" in line)
    begun = next(line for line in lines if _STAMP.match(line))
    return (moment(lines[up]) - moment(begun)).total_seconds()


def runs(cluster: Cluster) -> tuple[Run, Run]:
    """From bare nodes, and once more."""
    first, again = converge(cluster), converge(cluster)
    assert records.changes(again.events) == {}
    return first, again


def test_a_run_takes_no_longer_than_the_sweep_of_opensm_does(tmp_path: pathlib.Path) -> None:
    small, large = Cluster("rdma-small"), Cluster("rdma-large")
    try:
        small.command("up", "--topology", "3-nodes")
        first_small, again_small = runs(small)
    finally:
        small.command("down")
    topology = tmp_path / "large.topo"
    topology.write_text(large.command("topology", str(PORTS), "--containers", "3"), encoding="utf-8")
    try:
        large.command("up", "--topology", str(topology))
        first_large, again_large = runs(large)
        sweep = sweep_seconds(large)
        seen = large.shell("node2", "ibhosts | wc -l").stdout.strip()
    finally:
        large.command("down")
    print(
        "first run %.0f s and %.0f s, unchanged run %.0f s and %.0f s, sweep %.1f s"
        % (*(run.seconds for run in (first_small, first_large, again_small, again_large)), sweep)
    )
    assert seen == str(PORTS)
    assert first_large.seconds < first_small.seconds + sweep + NOISE_SECONDS
    assert again_large.seconds < again_small.seconds + NOISE_SECONDS
