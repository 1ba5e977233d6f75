# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller judges what the jobs of a test have measured, and prints one table."""

from __future__ import annotations

import json
import pathlib
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.action import report

END = {"gbps": 100, "port": "mlx5_0/1", "left_out": {}, "soft": "64", "hard": "64"}
FIGURE = {"test": "ib_write_bw", "hosts": ["node1", "node2"], "tool": "ib_write_bw", "gbps": 60.0}
JOB = {"hosts": ["node1", "node2"], "number": 12, "problem": "", "code": "", "left": "", "missing": {}, "figures": [FIGURE]}
PAIR = {"server": "node1", "tests": ["ib_write_bw"], "figures": [], "problem": "ib_write_bw failed: Couldn't allocate MR"}


def judged(check: bool = False, hostvars: t.Mapping[str, t.Any] | None = None, **arguments: t.Any) -> dict[str, t.Any]:
    given = {"kind": "jobs", "ends": {"node1": END, "node2": END}, "variable": "run", "user": "alice", **arguments}
    task = mock.Mock(async_val=0, check_mode=check, diff=False, args=given)
    connection = mock.Mock()
    connection._shell.tmpdir = None
    plugin = report.ActionModule(task, connection, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
    result = {"jobs": [JOB], "commands": ["sbatch", "osu_latency on node1, node2"]}
    known: dict[str, t.Any] = {"node1": {"run": result}, "node2": {"run": result}, "node3": {}, **(hostvars or {})}
    answer: dict[str, t.Any] = plugin.run(task_vars={"hostvars": known, "ansible_play_hosts_all": ["node1", "node2", "node3"]})
    return answer


def test_a_job_is_judged_once_and_fails_the_task(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = judged(report_dir=str(tmp_path))
    assert result["msg"] == "job test: node[1-2], ib_write_bw: found 60 Gb/s, expected 80 Gb/s or more (job_slow)"
    assert [job["number"] for job in result["jobs"]] == [12]
    assert json.loads((tmp_path / "job-test.json").read_text(encoding="utf-8"))["findings"] == result["findings"]
    assert "Not measured: node3" in capsys.readouterr().out
    assert "failed" not in judged(fail=False)
    assert judged(min_gbps=50)["findings"] == []


def test_check_mode_shows_the_commands_and_writes_nothing(tmp_path: pathlib.Path) -> None:
    result = judged(True, report_dir=str(tmp_path), required=["memlock", "ib_write_bw"])
    assert [line for line in result["table"] if line.startswith("Would be run: ")] == [
        "Would be run: sbatch",
        "Would be run: osu_latency on node1, node2",
    ]
    assert result["findings"] == [] and not list(tmp_path.iterdir())


def test_a_task_that_could_start_no_job_is_a_finding() -> None:
    failed = {"run": {"failed": False, "msg": "srun of Slurm is not installed on this host"}}
    (finding,) = judged(hostvars={"node1": failed, "node2": failed})["findings"]
    assert (finding["code"], finding["object"], finding["found"]) == ("job_failed", "node[1-2]", "srun of Slurm is not installed on this host")


def test_without_slurm_sessions_and_pairs_are_judged() -> None:
    hosts = {"node1": {"run": {"jobs": []}}, "node2": {"run": {"skipped": True}, "measured": [PAIR]}}
    result = judged(hostvars=hosts, launcher="ssh", measured="measured", tests=["memlock", "ib_write_bw"])
    assert [(finding["code"], finding["object"]) for finding in result["findings"]] == [("job_memlock", "node[1-2]"), ("job_no_memory", "node[1-2]")]


def test_what_can_not_be_is_refused() -> None:
    assert "kind jobs needs variable" in judged(variable="")["msg"]
    assert "min_share is 2.0; allowed: " in judged(min_share=2)["msg"]
