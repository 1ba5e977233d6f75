# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A playbook with as many plays and tasks as a run had, and nothing in them: what Ansible itself costs. Pure."""

from __future__ import annotations

import re
import typing as t


def _tasks(text: str) -> t.Iterator[dict[str, int]]:
    """How many hosts each task of a play has done or skipped."""
    for part in re.split(r"^TASK \[", text, flags=re.M)[1:]:
        counts = {word: len(re.findall(r"^%s: \[" % word, part, re.M)) for word in ("ok", "changed", "skipping")}
        included = sum(len(names.split(",")) for names in re.findall(r"^included: .* for (.*)$", part, re.M))
        yield {"done": counts["ok"] + counts["changed"] + included, "skipped": counts["skipping"]}


def playbook(output: str, hosts: int) -> list[dict[str, t.Any]]:
    """`output`: that of a run of `hosts` hosts, with skipped tasks. The first and the last task of all hosts reach their nodes, as those of site do."""
    plays: list[dict[str, t.Any]] = []
    everywhere: list[dict[str, t.Any]] = []
    for text in re.split(r"^PLAY \[", output.partition("PLAY RECAP")[0], flags=re.M)[1:]:
        tasks = []
        for task in _tasks(text):
            number = max(task["done"], task["skipped"])
            content: dict[str, t.Any] = {"name": "Do nothing", "ansible.builtin.assert": {"that": "true", "quiet": True}}
            if task["done"] < task["skipped"]:
                content["when"] = "bench_case == ''"
            if number < hosts / 2:
                content["run_once"] = True
            elif task["done"] >= task["skipped"]:
                everywhere.append(content)
            tasks.append(content)
        plays.append({"hosts": "rdma", "gather_facts": False, "tasks": tasks})
    for content in (everywhere[0], everywhere[-1]):
        del content["ansible.builtin.assert"]
        content["ansible.builtin.ping"] = {}
    return plays
