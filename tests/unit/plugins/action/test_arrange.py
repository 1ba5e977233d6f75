# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions of the playbooks on the controller, by kind."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible import constants
from ansible_collections.rdma.ofed.plugins.action import arrange, report
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked

HOSTS = {"node1": {"due": True}, "node2": {"due": True, "opensm_standby": True}, "node3": {"due": False}, "node4": {"due": True}}
GROUPS = {"rdma": [*HOSTS, "node5"], "compute": ["node2", "node3", "node4"], "opensm": ["node1"]}
END = {"fabric": "ib", "tests": ["ibping"]}


@pytest.fixture(autouse=True)
def _run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


def run(plugin: t.Any, arguments: t.Mapping[str, t.Any], name: str = "arrange", **variables: t.Any) -> dict[str, t.Any]:
    task = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, action="rdma.ofed." + name, args=dict(arguments))
    connection = mock.Mock()
    connection._shell.tmpdir = None
    action = plugin.ActionModule(task, connection, mock.Mock(), mock.Mock(), mock.Mock(template=lambda value: value), mock.Mock())
    known = {"inventory_hostname": "node1", "ansible_play_hosts": list(HOSTS), "groups": GROUPS, "hostvars": HOSTS, **variables}
    result: dict[str, t.Any] = action.run(task_vars=known)
    return result


@pytest.mark.parametrize("name, kind", [("arrange", {"kind": "batches"}), ("rolling_batches", {})])
def test_the_batches_are_told_and_returned_in_the_order_in_which_they_come(name: str, kind: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    result = run(arrange, {**kind, "due": "due", "groups": ["compute"], "serial": "100%"}, name)
    assert result["hosts"] == ["node2", "node4", "node1"]
    assert result["sizes"] == [2, 1]
    assert result["batches"][1] == {"number": 2, "of": 2, "label": "subnet manager", "hosts": ["node1"]}
    printed = capsys.readouterr().out.strip().splitlines()
    assert printed == ["batch 1 of 2 (compute): node[2,4]", "batch 2 of 2 (subnet manager): node1", "nothing to do on 1 of 4 hosts"]


def test_batches_that_can_not_be_are_refused() -> None:
    result = run(arrange, {"kind": "batches", "due": "due", "groups": ["nowhere"], "serial": "0%"})
    assert result["failed"] is True
    assert "rdma_upgrade_groups[0] is 'nowhere'" in result["msg"]
    assert "rdma_serial is '0%'" in result["msg"]
    assert "kind batches needs due" in run(arrange, {"kind": "batches"})["msg"]


def test_a_round_has_the_tests_that_both_ends_can_do() -> None:
    ends = {"node10": {**END, "tests": ["ibping", "ib_write_bw"]}, "node2": {**END, "tests": ["ib_write_bw"]}, "storage1": {**END, "fabric": "storage"}}
    found = run(arrange, {"kind": "pairs", "ends": ends})
    assert found["rounds"] == 1
    assert sorted((host, part["role"], part["peer"], part["tests"]) for host, part in found["parts"].items()) == [
        ("node10", "client", "node2", ["ib_write_bw"]),
        ("node2", "server", "node10", ["ib_write_bw"]),
    ]
    assert run(arrange, {"kind": "pairs", "ends": ends, "number": 1})["parts"] == {}


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"number": -1}, "the number of the round is -1; allowed: a number from 0 on"),
        ({"number": "x"}, "number"),
        ({"ends": {"a": END, "b": {}}}, "no result of rdma.ofed.ib_pair_test with fabric and tests: b"),
        ({"ends": {"a": {"fabric": {}, "tests": 1}, "b": None, "c": []}}, "with fabric and tests: a, b, c"),
        ({"scope": "each"}, "scope"),
    ],
)
def test_pairs_that_can_not_be_are_refused(arguments: dict[str, t.Any], words: str) -> None:
    try:
        result = run(arrange, {"kind": "pairs", "ends": {"a": END, "b": END}, **arguments})
    except Exception as exc:  # refused by ansible-core itself
        result = {"failed": True, "msg": str(exc)}
    assert result["failed"] and words in result["msg"]


@pytest.mark.parametrize("host, part", [("node1", "master"), ("node2", "resting"), ("node3", "resting")])
def test_inventory_tells_whether_a_host_runs_subnet_managers(host: str, part: str) -> None:
    assert run(arrange, {"kind": "subnet_managers"}, inventory_hostname=host) == {"changed": False, "part": part, "designated": {"ib": "node1"}}


def test_the_role_may_be_given_what_the_inventory_does_not_have() -> None:
    groups = {**GROUPS, "opensm": ["node1", "node3"]}
    found = run(arrange, {"kind": "subnet_managers"}, inventory_hostname="node3", groups=groups, opensm_standby=True)
    assert found["part"] == "standby"
    assert "fabric storage" in run(arrange, {"kind": "subnet_managers"}, fabric="storage")["msg"]
    assert "has an invalid form" in run(arrange, {"kind": "subnet_managers"}, groups=None)["msg"]


HELP = "  --use_cuda=<cuda device id>\n  --use_cuda_dmabuf\n"
FACTS = {
    "gpu": {
        "devices": [{"pci": "0000:18:00.0"}],
        "driver": {"loaded": True, "version": "535.104.05", "flavour": "open"},
        "peers": [{"name": "nvidia_peermem", "loaded": True}],
        "topology": [],
    },
    "kernels": {"running": "6.1.0-50-amd64"},
    "ports": [{"name": "mlx5_0/1", "device": "mlx5_0", "port": 1, "state": "ACTIVE", "pci": "0000:03:00.0"}],
}


def endpoint(facts: dict[str, t.Any], **arguments: t.Any) -> dict[str, t.Any]:
    return run(arrange, {"kind": "gpus", "help": HELP, **arguments}, ansible_facts={"rdma": facts})


def test_a_host_with_a_gpu_takes_part_in_a_measurement() -> None:
    end = endpoint(marked(FACTS))["end"]
    assert (end["device"], end["port"], end["gpu"], end["way"], list(end["options"])) == ("mlx5_0", 1, "0000:18:00.0", "nvidia_peermem", ["--use_cuda=0"])


def test_a_host_that_can_not_take_part_says_why() -> None:
    assert endpoint(marked({"gpu": {}, "ports": []}), help="")["msg"].startswith("node1 can't take part: there is no NVIDIA GPU")
    assert "the GPU is -1" in endpoint(marked(FACTS), gpu=-1)["msg"]
    # Facts in a fact cache are not facts of this run.
    assert "run rdma.ofed.rdma_facts" in endpoint(FACTS)["msg"]


def test_facts_of_another_form_are_told_without_a_traceback() -> None:
    for odd in ("text", 1, ["gpu"]):
        assert "has an invalid form" in endpoint(marked({**FACTS, "gpu": {"devices": odd}}))["msg"]
        assert run(arrange, {"kind": "pending"}, ansible_facts={"rdma": marked({"kernels": odd, "machine": odd})})["pending"] == []


def measured(output: str, least: float = 0, **ends: t.Any) -> dict[str, t.Any]:
    known = {"node2": {"part": {"end": endpoint(marked(FACTS))["end"]}}, "node1": {"part": {"end": endpoint(marked(FACTS))["end"]}}, **ends}
    return run(
        report,
        {"kind": "gpus", "hosts": ["node2", "node1"], "variable": "part", "output": output, "min_gbps": least},
        "report",
        hostvars=known,
    )


def test_what_was_measured_between_gpus_is_printed_and_judged(capsys: pytest.CaptureFixture[str]) -> None:
    output = " 65536 1856412 0.00 97.31 0.185602\n"
    found = measured(output, 90)
    assert found["gbps"] == 97.31 and "failed" not in found
    assert found["table"][-1] == "97.31 Gb/s on average, in writes of 65536 bytes"
    assert found["table"][2].split()[:2] == ["writes", "node2"]
    assert "97.31 Gb/s on average" in capsys.readouterr().out
    assert measured(output, 180)["msg"].startswith("node2 writes 97.31 Gb/s into the GPU's memory of node1; gpudirect_test_minimum is 180.")
    assert "It said: Couldn't connect" in measured("Couldn't connect to node1:18515")["msg"]
    assert "Without it: node1" in measured(output, node1={})["msg"]


def test_what_was_found_since_counts_and_another_kernel_is_pending() -> None:
    known = {"kind": "parameter", "subject": "mlx5_core", "aspect": "x", "before": "0", "after": "1", "needs": "driver_reload", "why": []}
    facts = {"kernels": {"running": "6.1.0-49-amd64", "next_boot": "6.1.0-50-amd64"}, "machine": {"kind": "host"}}
    arguments = {"kind": "pending", "known": [known], "found": [{**known, "needs": "reboot"}]}
    found = run(arrange, arguments, ansible_facts={"rdma": marked(facts)})["pending"]
    kernel = {"kind": "kernel", "subject": "", "aspect": "running", "before": "6.1.0-49-amd64", "after": "6.1.0-50-amd64", "needs": "reboot", "why": []}
    assert found == [{**known, "needs": "reboot"}, kernel]
    # Facts in a fact cache may predate the last boot.
    assert run(arrange, arguments, ansible_facts={"rdma": facts})["pending"] == found[:1]
    assert "known[0] is " in run(arrange, {**arguments, "known": [{"kind": "x"}]})["msg"]


JOB_END = {"user_id": 1000, "node": "n", "address": "10.1.0.1", "slurm": True, "port": "mlx5_0/1", "gbps": 100, "lid": 1, "left_out": {}}


def test_jobs_are_started_as_the_submit_host_can() -> None:
    ends = {host: {**JOB_END, "node": "slurm-" + host, "address": "10.1.0." + host[-1]} for host in ("node10", "node2", "node3", "node4")}
    found = run(arrange, {"kind": "jobs", "ends": ends, "scope": "pairs", "submit": "login1"})
    assert found["launcher"] == "slurm"
    assert [[part["node"] for part in group] for group in found["groups"]] == [["slurm-node2", "slurm-node3"], ["slurm-node4", "slurm-node10"]]
    assert found["firsts"] == {"node2": 0, "node4": 1}
    without = run(arrange, {"kind": "jobs", "ends": {host: {**end, "slurm": False} for host, end in ends.items()}, "submit": "node2"})
    assert (without["launcher"], [part["node"] for part in without["groups"][0]]) == ("ssh", ["10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.0"])
    assert list(without["ends"]) == ["node2", "node3", "node4", "node10"]


def test_a_user_with_two_ids_runs_no_job() -> None:
    failed = run(arrange, {"kind": "jobs", "ends": {"a": JOB_END, "b": {**JOB_END, "user_id": 1001}}})
    assert "different user IDs: 1000 on a; 1001 on b" in failed["msg"]
    assert "no result of rdma.ofed.job_test" in run(arrange, {"kind": "jobs", "ends": {"a": {}}})["msg"]
