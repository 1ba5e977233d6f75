# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The job test with a real Slurm: slurmctld and slurmd on node1, slurmd on node2. Containers have no RDMA traffic, so the programs of MPI are stand-ins."""

from __future__ import annotations

import collections.abc
import copy
import json
import pathlib
import time
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from proofs import REAL
from slurm_lab import USER, configuration, installation

# A commit would wait longer than it may for the installation of Slurm.
pytestmark = pytest.mark.long

NODES = ("node1", "node2")
# A container can't raise its limit of locked memory.
LIMIT = "limit=$(ulimit -H -l); echo $limit"
CONFIG = configuration("node[1-2]")
REMOVE = """\
apt-get purge -qq -y --autoremove slurm* munge >/dev/null
rm -rf /etc/slurm /var/lib/slurm /etc/munge /etc/systemd/system/slurmd.service.d /etc/security/limits.d/lab.conf /usr/local/bin/osu_*
userdel --remove alice
systemctl daemon-reload
"""
SLURMD = "mkdir -p /etc/systemd/system/slurmd.service.d; printf '[Service]\\nLimitMEMLOCK=%s\\n' >/etc/systemd/system/slurmd.service.d/lab.conf"
RESTART = "systemctl daemon-reload; systemctl restart slurmd"
STAND_IN = 'printf \'#!/bin/sh\\necho "# Size %s"; echo "8 %s"\\n\' >/usr/local/bin/%s; chmod 755 /usr/local/bin/%s'


class Slurm:
    """The lab's Slurm, and the playbook that uses it."""

    def __init__(self, lab: Cluster, folder: pathlib.Path) -> None:
        self.lab = lab
        inventory = copy.deepcopy(yaml.safe_load(lab.inventory.read_text(encoding="utf-8")))
        inventory["all"]["children"]["slurm_controller"] = {"hosts": {"node1": None}}
        self.inventory = folder / "inventory.yml"
        self.inventory.write_text(yaml.safe_dump(inventory), encoding="utf-8")
        self.reports = folder / "reports"
        self.most = self.do("node1", LIMIT)

    def do(self, node: str, command: str) -> str:
        done = self.lab.shell(node, command)
        assert done.returncode == 0, command + done.stdout + done.stderr
        return done.stdout.strip()

    def idle(self) -> None:
        deadline = time.monotonic() + 120
        while self.do("node1", "sinfo --noheader --format=%T") != "idle":
            assert time.monotonic() < deadline, self.do("node1", "sinfo")
            time.sleep(0.3)

    def jobs(self) -> str:
        return self.do("node1", "squeue --noheader --format=%j")

    def test(self, *arguments: str, **variables: t.Any) -> Run:
        given = {"job_test_user": USER, "job_test_memlock": self.most, "job_test_tests": ["memlock"], "job_test_report_dir": str(self.reports)}
        return self.lab.play("job_test", "--limit", ",".join(NODES), *arguments, "-e", json.dumps({**given, **variables}), inventory=self.inventory)

    def report(self) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", json.loads((self.reports / "job-test.json").read_text(encoding="utf-8")))

    def codes(self) -> list[tuple[str, str]]:
        return [(finding["code"], finding["object"]) for finding in self.report()["findings"]]


@pytest.fixture(scope="module")
def installed(lab: Cluster, tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Slurm]:
    for host, daemons in (("node1", "slurmctld slurmd"), ("node2", "slurmd")):
        done = lab.shell(host, installation(CONFIG, daemons))
        assert done.returncode == 0, done.stdout + done.stderr
    yield Slurm(lab, tmp_path_factory.mktemp("slurm"))
    for host in NODES:
        lab.shell(host, REMOVE)


@pytest.fixture
def slurm(installed: Slurm) -> collections.abc.Iterator[Slurm]:
    """Yield idle nodes without jobs, and restore that state."""
    installed.idle()
    yield installed
    assert installed.jobs() == "", "a job was left behind"
    for node in NODES:
        installed.do(node, "rm -rf /etc/systemd/system/slurmd.service.d /etc/security/limits.d/lab.conf /usr/local/bin/osu_*; " + RESTART)
    installed.do("node1", "scontrol update nodename=node2 state=resume 2>/dev/null; true")


def failures(run: Run) -> str:
    return " ".join(str(event["msg"]) for event in records.failures(run.events))


@pytest.mark.proves("job_test", debian12=REAL)
def test_a_job_has_its_limit_and_check_mode_submits_none(slurm: Slurm) -> None:
    predicted = slurm.test("--check")
    assert predicted.status == 0, predicted.output
    assert "Would be run: sbatch " in predicted.output and not slurm.reports.exists()
    # The ID of the next job tells whether there was one.
    done = slurm.test()
    assert done.status == 0, done.output
    (job,) = slurm.report()["jobs"]
    assert (job["number"], job["hosts"]) == (1, list(NODES))
    assert {(figure["test"], figure["soft"]) for figure in job["figures"]} == {("memlock", slurm.most)}
    assert not records.changes(done.events)


@pytest.mark.proves("job_test", debian12=REAL)
def test_a_slurmd_with_a_low_limit_is_named(slurm: Slurm) -> None:
    slurm.do("node2", "%s; %s" % (SLURMD % "64K", RESTART))
    slurm.idle()
    done = slurm.test()
    assert done.status != 0
    assert slurm.codes() == [("job_memlock", "node2")]
    assert "hard limit 64 KiB" in done.output and "systemctl restart slurmd" in done.output


@pytest.mark.proves("job_test", debian12=REAL)
def test_a_low_limit_of_the_session_that_submits_is_told_from_that(slurm: Slurm) -> None:
    slurm.do("node1", "echo 'alice soft memlock 64' >/etc/security/limits.d/lab.conf")
    done = slurm.test()
    assert done.status != 0
    assert slurm.codes() == [("job_memlock_soft", "node[1-2]")]
    assert "PropagateResourceLimitsExcept=MEMLOCK" in done.output


@pytest.mark.proves("job_test", debian12=REAL)
def test_a_job_that_does_not_start_is_cancelled_and_has_the_reason(slurm: Slurm) -> None:
    slurm.do("node1", "scontrol update nodename=node2 state=drain reason=disk")
    done = slurm.test(job_test_wait=4)
    assert done.status != 0
    assert slurm.codes() == [("job_not_started", "node[1-2]")]
    assert "PENDING, reason " in done.output
    assert slurm.jobs() == ""


@pytest.mark.proves("job_test", debian12=REAL)
def test_a_job_that_slurm_refuses_quotes_it(slurm: Slurm) -> None:
    done = slurm.test(job_test_slurm_options=["--partition=gpu"])
    assert done.status != 0
    assert slurm.codes() == [("job_refused", "node[1-2]")]
    assert "invalid partition specified" in done.output


@pytest.mark.proves("job_test", debian12=REAL)
def test_a_user_who_proves_nothing_is_refused(slurm: Slurm) -> None:
    for user, words in (("bob", "user bob does not exist on this host"), ("root", "user root is root")):
        refused = slurm.test(job_test_user=user)
        assert refused.status != 0
        assert words in failures(refused), refused.output
    slurm.do("node2", "usermod --uid 1501 alice")
    refused = slurm.test()
    slurm.do("node2", "usermod --uid 1500 alice")
    assert refused.status != 0
    assert "different user IDs: 1500 on" in failures(refused), refused.output


@pytest.mark.proves("job_test", debian12=REAL)
def test_programs_run_on_both_nodes_and_each_failure_has_its_reason(slurm: Slurm) -> None:
    for node in NODES:
        for name, title, value in (("osu_latency", "Latency (us)", "1.5"), ("osu_bw", "Bandwidth (MB/s)", "12000")):
            slurm.do(node, STAND_IN % (title, value, name, name))
    tests = ["memlock", "ib_write_bw", "pingpong", "alltoall", "allreduce"]
    # The PMIx library is not installed here, which only a library of MPI needs.
    done = slurm.test(job_test_tests=tests, job_test_mpi="none", job_test_required=["alltoall"], job_test_max_usec=1, job_test_min_gbps=97)
    assert done.status != 0
    found = {finding["code"]: finding["found"] for finding in slurm.report()["findings"]}
    # The port is simulated, so verbs find none.
    assert "Unable to find the Infiniband/RoCE device" in found.pop("job_no_device")
    assert found == {"job_latency": "1.5 us", "job_slow": "96 Gb/s", "job_tool_missing": "osu_alltoall or IMB-MPI1: not found"}
    assert "Not installed for allreduce: all_reduce_perf" in done.output
    slurm.test(job_test_tests=["pingpong"], job_test_mpi="pmix")
    assert {code for code, _hosts in slurm.codes()} == {"job_no_pmi"}


@pytest.mark.proves("job_test", debian12=REAL)
def test_without_slurm_the_sessions_of_the_user_are_judged(slurm: Slurm) -> None:
    slurm.do("node2", "echo 'alice - memlock 64' >/etc/security/limits.d/lab.conf")
    done = slurm.test(job_test_launcher="ssh")
    assert done.status != 0
    assert slurm.codes() == [("job_memlock", "node2")]
    assert "pam_limits" in done.output
