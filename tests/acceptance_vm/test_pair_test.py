# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pair tests with the real perftest and iperf3, through rxe over the Ethernet between two machines. The tests depend on each other."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from cluster import Cluster, Run
from proofs import REAL

NODES = ("node1", "node2")
WIRE = "labwire"
ADDRESSES = {"node1": "10.30.0.1", "node2": "10.30.0.2"}
TESTS = ["ib_write_bw", "ib_send_bw", "ib_write_lat", "iperf3", "ibping"]
LINK = "modprobe rdma_rxe && ip link set {wire} up && ip address replace {address}/24 dev {wire} && rdma link add rxe0 type rxe netdev {wire}"
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends -y perftest iperf3 ibverbs-providers >/dev/null"


def run(lab: Cluster, node: str, script: str) -> str:
    done = lab.shell(node, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def servers(lab: Cluster) -> list[str]:
    """Return units and processes of servers on all machines."""
    script = "systemctl list-units --all --plain --no-legend 'rdma-ofed-pair-*'; pgrep -l 'ib_write|ib_send|iperf3|ibping'; true"
    return [line for node in NODES for line in run(lab, node, script).splitlines()]


@pytest.fixture(scope="module")
def linked(lab: Cluster) -> Cluster:
    """Return two machines with an rxe link."""
    for node in NODES:
        run(lab, node, LINK.format(wire=WIRE, address=ADDRESSES[node]))
        run(lab, node, "timeout 60 sh -c 'until grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state; do sleep 1; done'")
    return lab


def measure(lab: Cluster, *arguments: str, **variables: t.Any) -> Run:
    own = {"pair_test_port": "rxe0/1", "pair_test_tests": TESTS, "pair_test_seconds": 4}
    own["pair_test_address"] = "{{ %s[inventory_hostname] }}" % json.dumps(ADDRESSES)
    return lab.play("pair_test", "-e", json.dumps({**own, **variables}), *arguments)


@pytest.mark.proves("pair_test", debian12=REAL)
def test_missing_tools_are_named_with_the_command(linked: Cluster) -> None:
    for node in NODES:
        run(linked, node, "apt-get -qq --yes remove perftest iperf3 >/dev/null 2>&1; true")
    refused = measure(linked)
    assert refused.status != 0
    said = " ".join(refused.output.split())
    assert "missing tools: ib_write_bw, ib_send_bw, ib_write_lat, iperf3. The packages are iperf3, perftest" in said, refused.output
    assert "apt-get" in said
    assert servers(linked) == []


@pytest.mark.proves("pair_test", debian12=REAL)
def test_check_mode_measures_nothing(linked: Cluster) -> None:
    for node in NODES:
        run(linked, node, INSTALL)
    done = measure(linked, "--check")
    assert done.status == 0, done.output
    assert "Would be measured: node" in done.output
    assert "Nothing was measured." in done.output
    assert servers(linked) == []


@pytest.mark.proves("pair_test", debian12=REAL)
def test_bandwidth_and_latency_are_measured(linked: Cluster, tmp_path: pathlib.Path) -> None:
    done = measure(linked, pair_test_report_dir=str(tmp_path))
    assert done.status == 0, done.output
    report = json.loads((tmp_path / "pair-test.json").read_text(encoding="utf-8"))
    results = {result["test"]: result for result in report["results"]}
    # rxe has no management packets.
    assert sorted(results) == sorted(set(TESTS) - {"ibping"})
    assert "Left out: ibping: rxe0/1 is no InfiniBand port (node[1-2])" in done.output
    assert all(results[test]["gbps"] > 0 for test in ("ib_write_bw", "ib_send_bw", "iperf3")), results
    assert results["ib_write_lat"]["usec"] > 0
    assert report["findings"] == []
    assert "Fabric ib, ib_write_bw in Gb/s, 1 pairs of 2 hosts:" in done.output
    assert servers(linked) == []


@pytest.mark.proves("pair_test", debian12=REAL)
def test_what_is_below_the_limits_is_a_failure(linked: Cluster) -> None:
    done = measure(linked, pair_test_tests=["ib_write_bw", "ib_write_lat"], pair_test_min_gbps=1000, pair_test_max_usec=0.001)
    assert done.status != 0
    assert "pair_slow" in done.output and "pair_latency" in done.output
    assert servers(linked) == []


@pytest.mark.proves("pair_test", debian12=REAL)
def test_after_a_client_that_fails_the_servers_are_stopped(linked: Cluster) -> None:
    done = measure(linked, pair_test_tests=["ib_write_lat"], pair_test_address="10.30.0.99")
    assert done.status != 0
    assert "pair_failed" in done.output
    assert "Traceback" not in done.output
    assert servers(linked) == []


@pytest.mark.proves("pair_test", debian12=REAL)
def test_a_server_has_an_end_of_its_own(linked: Cluster, tmp_path: pathlib.Path) -> None:
    """The server ends regardless of the controller."""
    book = tmp_path / "server.yml"
    task = {"name": "Serve", "rdma.ofed.ib_pair_test": {"role": "server", "tests": ["ib_write_lat"], "port": "rxe0/1"}}
    stop = {"name": "Stop", "rdma.ofed.ib_pair_test": {"role": "stop"}}
    for tasks, ends in (([task], True), ([stop], False)):
        book.write_text(json.dumps([{"name": "One server", "hosts": "node1", "gather_facts": False, "become": True, "tasks": tasks}]), encoding="utf-8")
        done = linked.play(str(book))
        assert done.status == 0, done.output
        assert bool(servers(linked)) == ends
        if ends:
            assert run(linked, "node1", "systemctl show --property=RuntimeMaxUSec --value rdma-ofed-pair-ib_write_lat") != "infinity"
