# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""If all hosts fail in one play, Ansible ends the run there: the summary is printed before that, and only once."""

from __future__ import annotations

import json
import pathlib

import pytest
import yaml
from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLAYBOOKS = ROOT / "playbooks"
PLAYS = """
- hosts: rdma
  gather_facts: false
  strategy: %s
  tasks:
    - block:
        - name: Write the file
          ansible.builtin.fail:
            msg: no space left on the disk
          when: inventory_hostname in broken
      rescue:
        - ansible.builtin.import_tasks: %s/shared/fail.yml
- hosts: rdma
  gather_facts: false
  tasks:
    - ansible.builtin.import_tasks: %s/shared/end.yml
"""
# These work on all hosts at once instead of in batches.
WIDE = ("site", "verify", "monitor", "upgrade", "reboot", "firmware", "remove")


def play(folder: pathlib.Path, *broken: str, strategy: str) -> tuple[int, str]:
    (folder / "play.yml").write_text(PLAYS % (strategy, PLAYBOOKS, PLAYBOOKS))
    (folder / "hosts.json").write_text(json.dumps({"rdma": {"hosts": dict.fromkeys(["node1", "node2", "node3"]), "vars": {"ansible_connection": "local"}}}))
    done = playbook_runs.run("playbook", "-i", "hosts.json", "play.yml", "-e", json.dumps({"broken": broken}), folder=folder)
    return done.status, done.output


@pytest.mark.parametrize("strategy", ["linear", "free"])
def test_the_last_hosts_that_fail_bring_the_summary(tmp_path: pathlib.Path, strategy: str) -> None:
    status, said = play(tmp_path, "node1", "node2", "node3", strategy=strategy)
    assert status == 2
    assert "Summary: 0 of 3 hosts done, 3 failed or unreachable\n  node[1-3]: failed: Write the file: no space left on the disk" in said, said
    assert "Next: correct what is listed" in said
    assert said.count("Summary: ") == 1, said


def test_while_others_go_on_it_waits_for_the_end(tmp_path: pathlib.Path) -> None:
    status, said = play(tmp_path, "node1", "node3", strategy="linear")
    assert status == 2
    assert said.count("Summary: ") == 1, said
    assert "Summary: 1 of 3 hosts done, 2 failed or unreachable\n  node1,node3: failed: Write the file: no space" in said.replace("node[1,3]", "node1,node3"), (
        said
    )


@pytest.mark.parametrize("name", WIDE)
def test_no_play_with_roles_ends_without_it(name: str) -> None:
    """Roles are in blocks that end with the summary, or in batches, which end with it themselves."""
    for each in yaml.safe_load((PLAYBOOKS / (name + ".yml")).read_text(encoding="utf-8")):
        if "serial" in each or each["name"].startswith("Report"):
            continue
        for task in each.get("tasks", ()):
            assert not {"ansible.builtin.include_role", "ansible.builtin.import_role"} & set(task), (each["name"], task["name"])
            if "block" in task and "rdma.ofed.rdma_facts" not in task["block"][0]:
                assert task["rescue"][-1]["ansible.builtin.import_tasks"] == "shared/fail.yml", (each["name"], task["name"])


@pytest.mark.parametrize("pattern", ["rdma", "a,b", "a:b"])
def test_one_other_host_waits_in_the_play_of_the_subnet_managers(tmp_path: pathlib.Path, pattern: str) -> None:
    groups = {"a": ["node1", "node2"], "b": ["node3", "node4"], "rdma": ["node1", "node2", "node3", "node4"], "opensm": ["node3"]}
    (tmp_path / "hosts.json").write_text(json.dumps({name: {"hosts": dict.fromkeys(hosts)} for name, hosts in groups.items()}))
    said = playbook_runs.run("playbook", "-i", "hosts.json", str(PLAYBOOKS / "site.yml"), "--list-hosts", "-e", "rdma_hosts=" + pattern, folder=tmp_path).output
    play = said.partition("Start the designated subnet manager of each fabric")[2].partition("play #")[0]
    assert "hosts (2)" in play and "node3" in play, said
