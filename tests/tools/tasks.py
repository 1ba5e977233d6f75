# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs several tasks on several hosts in one Ansible process, whose start takes longer than most modules. A failure does not stop the next task."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
import typing as t

import ansible_runs

Task = t.Dict[str, t.Any]
Result = t.Dict[str, t.Any]


def module(name: str, check: bool = False, **options: t.Any) -> Task:
    """Return the task of a module of the collection."""
    return {"rdma.ofed." + name: options, "check_mode": check}


def shell(script: str) -> Task:
    return {"ansible.builtin.shell": script, "check_mode": False}


def parse(output: str) -> dict[str, list[Result]]:
    """Return the results of each host in the order of the tasks. Output shown while modules run precedes them and becomes `said` of the first.

    Warnings are removed: the first module on a node warns of the temporary directory that it creates.
    """
    said, brace, rest = output.partition("{\n")
    (play,) = json.loads(brace + rest)["plays"]
    found: dict[str, list[Result]] = {}
    for task in play["tasks"]:
        for host, result in task["hosts"].items():
            shown = {name: value for name, value in result.items() if name != "warnings"}
            found.setdefault(host, []).append({"failed": False, "changed": False, "said": said, **shown})
    return found


def run(
    inventory: str | pathlib.Path, hosts: t.Sequence[str], tasks: t.Sequence[Task], *, environment: t.Mapping[str, str] = os.environ
) -> dict[str, list[Result]]:
    """Return the results of the tasks by host, including failed ones."""
    play = {"hosts": ",".join(hosts), "gather_facts": False, "tasks": [{**task, "ignore_errors": True} for task in tasks]}
    # No record: records are for a playbook under test.
    env = {**environment, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json", "ANSIBLE_DIFF_ALWAYS": "1", "RDMA_RECORD": ""}
    with tempfile.TemporaryDirectory() as folder:
        playbook = pathlib.Path(folder, "tasks.json")
        playbook.write_text(json.dumps([play]), encoding="utf-8")
        done = ansible_runs.run("playbook", ["-i", str(inventory), str(playbook)], folder=pathlib.Path.cwd(), environ=env, seconds=1800)
    assert done.status == 0, done.shown + done.errors
    assert "Traceback" not in done.shown + done.errors, done.shown + done.errors
    found = parse(done.shown)
    assert {host: len(results) for host, results in found.items()} == dict.fromkeys(hosts, len(tasks)), done.shown
    return found
