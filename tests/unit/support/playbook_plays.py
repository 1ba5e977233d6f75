# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbooks as Ansible runs them, with imported plays and tasks in place."""

from __future__ import annotations

import pathlib
import typing as t

import yaml

GOES_ON = "a host that fails goes on with the next task"
FOLDER = pathlib.Path(__file__).resolve().parents[3] / "playbooks"


def judges_controller(play: dict[str, t.Any]) -> bool:
    """Return whether this play checks the controller: it runs on localhost or, within a limit, on a host in its place."""
    return play["hosts"] == "localhost" or "['localhost'] if ansible_limit is not defined" in play["hosts"]


def plays(name: str) -> list[dict[str, t.Any]]:
    """Return the plays of `site`. Their tasks do not include those of roles."""
    return list(_plays(FOLDER / (name + ".yml")))


def _plays(path: pathlib.Path) -> t.Iterator[dict[str, t.Any]]:
    for play in yaml.safe_load(path.read_text(encoding="utf-8")):
        imported = play.get("ansible.builtin.import_playbook")
        if imported:
            yield from _plays(path.parent / imported)
        else:
            yield {**play, "tasks": list(_tasks(play.get("tasks", []), path.parent, {}))}


def _tasks(tasks: list[dict[str, t.Any]], folder: pathlib.Path, variables: dict[str, t.Any]) -> t.Iterator[dict[str, t.Any]]:
    for task in tasks:
        imported = task.get("ansible.builtin.import_tasks")
        if imported:
            path = folder / imported
            yield from _tasks(yaml.safe_load(path.read_text(encoding="utf-8")), path.parent, {**variables, **task.get("vars", {})})
        elif task.get("rescue") and all(each.get("ansible.builtin.meta") == "noop" for each in task["rescue"]):
            yield from ({**each, GOES_ON: True} for each in _tasks(task["block"], folder, variables))
        else:
            yield {key: _filled(value, variables) for key, value in task.items()}


def _filled(value: t.Any, variables: dict[str, t.Any]) -> t.Any:
    """Replace arguments that are a single variable of the import by its value."""
    if isinstance(value, dict):
        return {key: _filled(each, variables) for key, each in value.items()}
    return variables.get(value.strip("{} "), value) if isinstance(value, str) and value.startswith("{{") else value
