# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbook site with hosts that answer as nodes of a lab did: what a run costs for a host, and that each host ends as it should."""

from __future__ import annotations

import json
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import budget
import fleet
from support import playbook_runs

CASES = ["unchanged", "unchanged", "unchanged", "drifted", "unreachable", "broken"]


def play(folder: pathlib.Path, cases: list[str]) -> playbook_runs.Done:
    fleet.write_answers(folder)
    (folder / "hosts.json").write_text(json.dumps(fleet.inventory(cases, folder)), encoding="utf-8")
    connections = str(fleet.CONNECTIONS)
    report = "rdma_report_dir=%s" % (folder / "reports")
    return playbook_runs.run("playbook", "-i", "hosts.json", "-e", report, "rdma.ofed.site", folder=folder, ANSIBLE_CONNECTION_PLUGINS=connections)


def test_each_host_ends_as_it_should_and_one_as_declared_costs_few_tasks(tmp_path: pathlib.Path) -> None:
    done = play(tmp_path, CASES)
    assert done.status == 2, done.output
    recap = {host: dict(re.findall(r"(\w+)=(\d+)", rest)) for host, rest in re.findall(r"^(n\d+) +: (.*)", done.output, re.M)}
    assert [recap["n%05d" % number]["changed"] for number in range(6)] == ["0", "0", "0", "1", "0", "0"], done.output
    assert [recap["n%05d" % number]["failed"] for number in range(6)] == ["0", "0", "0", "0", "1", "1"], done.output
    summary = done.said.rpartition("Summary: ")[2]
    assert summary.startswith("4 of 6 hosts done, 1 changed, 2 "), done.output
    assert "n00004: unreachable: ssh: connect to host" in summary and "n00005: " in summary, done.output
    tasks = budget.tasks(done.output)
    assert tasks["n00002"] <= budget.TASKS, done.output
    calls = {path.name: path.stat().st_size for path in (tmp_path / "calls").iterdir()}
    assert calls["n00002-rdma_facts"] == budget.COMPUTE_NODE and "n00002-ipoib" not in calls
    assert calls["n00003-rdma_facts"] == budget.COMPUTE_NODE and calls["n00003-ipoib"] == 1
    (path,) = (tmp_path / "reports").iterdir()
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["playbooks"] == ["rdma.ofed.site"] and report["check_mode"] is False
    hosts = report["hosts"]
    assert [hosts["n%05d" % number]["state"] for number in range(6)] == ["done", "done", "done", "done", "left_out", "left_out"], hosts
    assert hosts["n00004"]["left_out"]["all"][0].startswith("unreachable: "), hosts
    assert hosts["n00003"]["changed"] and not hosts["n00002"]["changed"], hosts
    assert hosts["n00003"]["changes"] and hosts["n00002"]["changes"] == [], hosts
    assert report["totals"] == {"hosts": 6, "changed": 1, "done": 4, "partly": 0, "left_out": 2, "failed": 0, "unreachable": 0, "untouched": 0}
