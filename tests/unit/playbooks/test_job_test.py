# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook job_test on four hosts, which are all this machine, with stand-ins for the modules that start processes."""

from __future__ import annotations

import json
import pathlib
import sys
import typing as t

import pytest
from support import playbook_runs

HOSTS = ["node1", "node2", "node4", "node5"]
# The name of the host is in the option port. One host has no such user.
JOBS = """#!/usr/bin/python
import json
from ansible.module_utils.basic import AnsibleModule
names = {"groups": "list", "tests": "list", "environment": "dict", "container": "list", "options": "list"}
names.update(dict.fromkeys(("user_id", "gpus", "seconds", "tcp_port", "step_seconds", "wait"), "int"))
names.update(dict.fromkeys(("role", "user", "port", "node", "address", "launcher", "setup", "mpi"), "str"))
module = AnsibleModule({name: {"type": kind} for name, kind in names.items()}, supports_check_mode=True)
given = module.params
with open(%r, "a") as log:
    log.write(json.dumps(given) + "\\n")
if given["role"] == "look":
    if given["port"] == %r:
        module.fail_json(msg="user alice does not exist on this host")
    end = {"user_id": 1000, "node": given["node"], "address": given["address"], "slurm": %r, "port": "mlx5_0/1", "gbps": 100, "lid": 1}
    module.exit_json(changed=False, end={**end, "soft": "unlimited", "hard": "unlimited", "left_out": {}})
jobs = []
for group in given["groups"]:
    hosts = [part["host"] for part in group]
    figure = dict(test="pingpong", hosts=hosts, tool="osu_latency", soft="", hard="", gbps=None, usec=9.5, network="", problem="", code="")
    jobs.append(dict(hosts=hosts, number=7, problem="", code="", left="", missing={}, figures=[figure]))
if module.check_mode:
    module.exit_json(changed=False, commands=["sbatch"], jobs=[])
module.exit_json(changed=False, commands=["sbatch"], jobs=jobs)
"""
PAIRS = """#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
kinds = {"role": "str", "tests": "list", "port": "str", "user": "str", "seconds": "int", "size": "int", "tcp_port": "int", "peer": "dict"}
module = AnsibleModule({name: {"type": kind} for name, kind in kinds.items()}, supports_check_mode=True)
assert module.params["user"] == "alice"
figure = {"test": "ib_write_bw", "gbps": 97.5, "usec": None, "loss": None, "problem": ""}
module.exit_json(changed=False, failed_tests={}, figures=[figure])
"""


class Played(t.NamedTuple):
    status: int
    output: str
    calls: list[dict[str, t.Any]]
    report: dict[str, t.Any]


def play(folder: pathlib.Path, *arguments: str, slurm: bool, broken: str = "node5", **variables: t.Any) -> Played:
    log = folder / "log"
    playbook_runs.collection_of(folder, {"modules/job_test.py": JOBS % (str(log), broken, slurm), "modules/ib_pair_test.py": PAIRS})
    own = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "pair_test_port": "{{ inventory_hostname }}"}
    (folder / "inventory.yml").write_text(json.dumps({"rdma": {"hosts": dict.fromkeys(HOSTS), "vars": own}}))
    given = {"job_test_user": "alice", "job_test_report_dir": str(folder), **variables}
    given = {name: value for name, value in given.items() if value is not None}
    argv = ["-i", "inventory.yml", "rdma.ofed.job_test", *arguments, "-e", json.dumps(given)]
    done = playbook_runs.run("playbook", *argv, folder=folder, collections=folder)
    report = folder / "job-test.json"
    calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return Played(done.status, done.output, calls, json.loads(report.read_text()) if report.exists() else {})


def test_slurm_gets_one_job_from_one_host_and_a_broken_host_is_left_out(tmp_path: pathlib.Path) -> None:
    played = play(tmp_path, slurm=True)
    # node5 failed.
    assert played.status == 2, played.output
    (run,) = [call for call in played.calls if call["role"] == "run"]
    assert [[part["host"] for part in group] for group in run["groups"]] == [["node1", "node2", "node4"]]
    assert (run["user"], run["launcher"], run["environment"]) == ("alice", "slurm", {"OMPI_MCA_pml": "ucx", "UCX_TLS": "^tcp"})
    assert played.report["findings"] == [] and played.report["absent"] == ["node5"]
    assert "user alice does not exist on this host" in played.output


def test_findings_are_the_exit_status(tmp_path: pathlib.Path) -> None:
    played = play(tmp_path, "--limit", "node1,node2", slurm=True, job_test_max_usec=5)
    assert played.status == 2
    assert [finding["code"] for finding in played.report["findings"]] == ["job_latency"]


def test_pairs_without_slurm(tmp_path: pathlib.Path) -> None:
    played = play(tmp_path, "--limit", "node1,node2,node4", slurm=False)
    assert played.status == 0, played.output
    runs = [call for call in played.calls if call["role"] == "run"]
    assert [(call["launcher"], [part["node"] for part in call["groups"][0]]) for call in runs] == [("ssh", ["node1", "node2", "node4"])]
    figures = [figure for job in played.report["jobs"] for figure in job["figures"]]
    assert [figure["test"] for figure in figures] == ["memlock"] * 3 + ["ib_write_bw"] * 3 + ["pingpong"]


def test_a_first_host_that_is_broken_is_not_named_for_slurm(tmp_path: pathlib.Path) -> None:
    played = play(tmp_path, slurm=False, broken="node1")
    assert played.status == 2, played.output
    runs = [call for call in played.calls if call["role"] == "run"]
    assert [(call["launcher"], [part["node"] for part in call["groups"][0]]) for call in runs] == [("ssh", ["node2", "node4", "node5"])]
    assert played.report["absent"] == ["node1"]


def test_check_mode_lists_and_writes_nothing(tmp_path: pathlib.Path) -> None:
    played = play(tmp_path, "--check", "--limit", "node1,node2", slurm=True)
    assert played.status == 0, played.output
    assert "Would be run: sbatch" in played.output and played.report == {}


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"job_test_user": None}, "job_test_user"),
        ({"job_test_wait": 0}, "job_test_wait is 0; allowed: 1 to 86400"),
        ({"job_test_tests": ["everything"]}, "everything"),
        ({"job_test_memlock": "8GiB"}, "is 8GiB; allowed: unlimited, keep, or a number of KiB. Nothing was run"),
        ({"kernel_modules_memlock": "much"}, "is much; allowed: unlimited, keep, or a number of KiB. Nothing was run"),
    ],
)
def test_wrong_input_is_refused_before_anything_runs(tmp_path: pathlib.Path, variables: dict[str, t.Any], words: str) -> None:
    played = play(tmp_path, "--limit", "node1,node2", slurm=True, **variables)
    assert played.status != 0
    # ansible-core 2.14 folds long messages.
    assert words in " ".join(played.output.split()) and played.calls == []
