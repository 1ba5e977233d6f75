# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No task is delegated to another host of the site, and no task with run_once depends on a host that may be down.

`run_once` acts like `any_errors_fatal` unless errors are ignored: with `ignore_unreachable` alone, one dead host silently drops all hosts. Delegation renders
the connection variables of the other host, such as `ansible_host: "{{ inventory_hostname }}-mgmt"`, with the names of the delegating host, so that it reaches
the wrong machine.
"""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = sorted([*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").rglob("*.yml")])
INHERITED = ("run_once", "ignore_unreachable", "ignore_errors", "delegate_to")
# The workload manager's host is not one of the nodes, and each node queries it for itself. Jobs are submitted there for one node, and it may be dead.
ALLOWED = ("localhost", "{{ __node_service_manager.host }}", "{{ __job_submit }}")
# These need no connection.
LOCAL = {"set_fact", "debug", "fail", "assert", "include_tasks", "import_tasks", "include_role", "import_role", "include_vars", "meta"}


def controller_actions() -> set[str]:
    return {path.stem for path in (ROOT / "plugins/action").glob("*.py") if re.search(r"\(ControllerAction\)", path.read_text(encoding="utf-8"))}


def tasks(entries: t.Iterable[t.Any], above: t.Mapping[str, t.Any]) -> t.Iterator[dict[str, t.Any]]:
    """Yield the tasks, with the settings inherited from plays and blocks."""
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        whole = {**{key: above[key] for key in INHERITED if key in above}, **entry}
        inner = [key for key in ("pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always") if isinstance(entry.get(key), list)]
        for key in inner:
            yield from tasks(entry[key], whole)
        if not inner:
            yield whole


def faults(task: t.Mapping[str, t.Any]) -> list[str]:
    found = []
    if task.get("delegate_to", "localhost") not in ALLOWED:
        found.append("is delegated to %s" % task["delegate_to"])
    if task.get("run_once"):
        if task.get("ignore_unreachable") and not task.get("ignore_errors"):
            found.append("runs once, and drops all hosts for one that is unreachable")
        names = {key.rpartition(".")[2] for key in task if "." in key}
        if task.get("delegate_to") != "localhost" and not names & (LOCAL | controller_actions()):
            found.append("runs once, on a host that may be dead")
    return found


def test_no_task_asks_another_host_of_the_site() -> None:
    found = []
    for path in FILES:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        entries = document if isinstance(document, list) else []
        found += ["%s: %s %s" % (path.relative_to(ROOT), task.get("name"), fault) for task in tasks(entries, {}) for fault in faults(task)]
    assert found == []


@pytest.mark.parametrize(
    "task, number",
    [
        ({"rdma.ofed.rdma_facts": None, "delegate_to": "{{ host }}"}, 1),
        ({"rdma.ofed.rdma_facts": None, "run_once": True}, 1),
        ({"ansible.builtin.debug": None, "run_once": True, "ignore_unreachable": True}, 1),
        ({"rdma.ofed.rdma_facts": None, "run_once": True, "ignore_unreachable": True, "delegate_to": "{{ host }}"}, 3),
        ({"rdma.ofed.report": {"kind": "refusals"}, "run_once": True}, 0),
        ({"ansible.builtin.tempfile": None, "run_once": True, "delegate_to": "localhost"}, 0),
        ({"rdma.ofed.rdma_facts": None, "ignore_unreachable": True}, 0),
    ],
)
def test_the_pattern_is_recognised(task: dict[str, t.Any], number: int) -> None:
    assert len(faults(task)) == number
