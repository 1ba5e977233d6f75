# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fabric with 2,000 host ports: the roles take no longer on a node, except for opensm's own sweep."""

from __future__ import annotations

import concurrent.futures
import datetime
import pathlib
import re
import time

import pytest
import records
from cluster import Cluster, Run
from conftest import converge
from proofs import REAL

pytestmark = pytest.mark.long

PORTS = 2000
SWEEP_SECONDS = 300
_STAMP = re.compile(r"^(\w{3} \d\d \d\d:\d\d:\d\d) (\d{6}) ")


def moment(line: str) -> datetime.datetime:
    found = _STAMP.match(line)
    assert found, line
    # The log has no year, and parsing a leap day needs one.
    return datetime.datetime.strptime("2024 %s.%s" % found.groups(), "%Y %b %d %H:%M:%S.%f")


def sweep_seconds(cluster: Cluster) -> float:
    """Return the seconds from opensm's start to its first complete sweep, from its log. The roles on other hosts do not wait for that sweep."""
    end = time.monotonic() + SWEEP_SECONDS
    while True:
        # opensm flushes that line with the next important one, or when it reopens the file.
        script = "systemctl kill --signal=USR1 rdma-opensm@ib; sleep 1; cat /var/log/opensm/ib/opensm.log"
        lines = cluster.shell("node1", script).stdout.splitlines()
        up = next((line for line in lines if "SUBNET UP" in line), "")
        if up:
            return (moment(up) - moment(next(line for line in lines if _STAMP.match(line)))).total_seconds()
        assert time.monotonic() < end, lines[-20:]


def both(small: Cluster, large: Cluster) -> tuple[Run, Run]:
    """Run on both fabrics in parallel, so that load on the machine slows down both."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first, second = pool.map(converge, (small, large))
    return first, second


@pytest.mark.proves("scale", debian12=REAL)
def test_a_run_takes_no_longer_than_the_sweep_of_opensm_does(lab: Cluster, tmp_path: pathlib.Path) -> None:
    large = Cluster("rdma-large")
    topology = tmp_path / "large.topo"
    topology.write_text(large.command("topology", str(PORTS), "--containers", "3"), encoding="utf-8")
    try:
        large.command("up", "--topology", str(topology))
        converge(large)
        sweep = sweep_seconds(large)
        again = both(lab, large)
        for cluster in (lab, large):
            cluster.shell("node1", "systemctl stop rdma-opensm@ib")
        started = both(lab, large)
        seen = large.shell("node2", "ibhosts | wc -l").stdout.strip()
    finally:
        large.command("down")
    words = "run that starts opensm %.0f s and %.0f s, unchanged run %.0f s and %.0f s, sweep %.1f s"
    print(words % (*(run.seconds for run in (*started, *again)), sweep))
    assert seen == str(PORTS)
    assert [records.changes(run.events) for run in again] == [{}, {}]
    # Load delays both fabrics alike; a factor of two covers what they do not share.
    assert started[1].seconds < 2 * started[0].seconds + sweep
    assert again[1].seconds < 2 * again[0].seconds
