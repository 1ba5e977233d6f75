# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A job of an ordinary user with real Slurm and perftest, over rxe between two machines. The tests depend on each other."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from cluster import Cluster, Run
from proofs import REAL
from slurm_lab import USER, configuration, installation

NODES = ("node1", "node2")
WIRE = "labwire"
ADDRESSES = {"node1": "10.30.0.1", "node2": "10.30.0.2"}
LINK = """\
modprobe rdma_rxe
ip link set {wire} up
ip address show dev {wire} | grep -q {address}/ || ip address replace {address}/24 dev {wire}
test -e /sys/class/infiniband/rxe0 || rdma link add rxe0 type rxe netdev {wire}
timeout 60 sh -c 'until grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state; do sleep 1; done'
"""
CONFIG = configuration(
    *("%s NodeAddr=%s" % pair for pair in ADDRESSES.items()),
    SlurmctldHost="node1(%s)" % ADDRESSES["node1"],
    SlurmdTimeout="3600",
    MessageTimeout="100",
)
UNLIMITED = "echo '%s - memlock unlimited' >/etc/security/limits.d/lab.conf" % USER
PACKETS = "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"


def run(lab: Cluster, node: str, script: str) -> str:
    done = lab.shell(node, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def slurm(lab: Cluster) -> Cluster:
    """Return two machines with an rxe link, and Slurm on both."""
    for node in NODES:
        run(lab, node, LINK.format(wire=WIRE, address=ADDRESSES[node]))
    for node, daemons in (("node1", "slurmctld slurmd"), ("node2", "slurmd")):
        # This takes minutes.
        lab.command("shell", node, "sh", "-ec", installation(CONFIG, daemons, packages="perftest ibverbs-providers", prepare=UNLIMITED))
    run(lab, "node1", "timeout 200 sh -c 'until [ \"$(sinfo --noheader --format=%T)\" = idle ]; do sleep 1; done'")
    return lab


def measure(lab: Cluster, folder: pathlib.Path, *arguments: str, **variables: t.Any) -> tuple[Run, dict[str, t.Any]]:
    own = {
        "job_test_user": USER,
        "job_test_report_dir": str(folder),
        "job_test_step_seconds": 200,
        "rdma_slurm_host": "node1",
        "pair_test_port": "rxe0/1",
        "pair_test_address": "{{ %s[inventory_hostname] }}" % json.dumps(ADDRESSES),
    }
    done = lab.play("job_test", "-e", json.dumps({**own, **variables}), *arguments)
    report = folder / "job-test.json"
    return done, json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}


def figures(report: dict[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    return {figure["tool"]: figure for job in report["jobs"] for figure in job["figures"]}


@pytest.mark.proves("job_test", debian12=REAL)
def test_an_ordinary_user_writes_over_rdma(slurm: Cluster, tmp_path: pathlib.Path) -> None:
    before = int(run(slurm, "node2", PACKETS))
    done, report = measure(slurm, tmp_path, job_test_tests=["memlock", "ib_write_bw"])
    assert done.status == 0, done.output
    assert figures(report)["ib_write_bw"]["gbps"] > 0
    # A message of 64 KiB has many packets, and TCP has none of these.
    assert int(run(slurm, "node2", PACKETS)) - before > 1000
    assert run(slurm, "node1", "squeue --noheader") == ""


@pytest.mark.proves("job_test", debian12=REAL)
def test_a_user_without_locked_memory_is_told_so(slurm: Cluster, tmp_path: pathlib.Path) -> None:
    drop_in = "mkdir -p /etc/systemd/system/slurmd.service.d; printf '[Service]\\nLimitMEMLOCK=16K\\n' >/etc/systemd/system/slurmd.service.d/lab.conf"
    run(slurm, "node2", drop_in + "; systemctl daemon-reload; systemctl restart slurmd")
    run(slurm, "node1", "timeout 200 sh -c 'until [ \"$(sinfo --noheader --format=%T)\" = idle ]; do sleep 1; done'")
    done, report = measure(slurm, tmp_path, job_test_tests=["memlock", "ib_write_bw"])
    assert done.status != 0
    assert {(finding["code"], finding["object"]) for finding in report["findings"]} == {("job_memlock", "node2"), ("job_no_memory", "node[1-2]")}, done.output
