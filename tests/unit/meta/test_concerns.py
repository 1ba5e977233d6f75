# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists of concerns outside the registry are complete."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import variables_of
from ansible_collections.rdma.ofed.plugins.module_utils._concerns._looks import LOOKS
from ansible_collections.rdma.ofed.plugins.module_utils._concerns._registry import CONCERNS, ROLES
from ansible_collections.rdma.ofed.plugins.module_utils._expectation import Expectation
from ansible_collections.rdma.ofed.plugins.module_utils._expectations import EXPECTATIONS
from ansible_collections.rdma.ofed.plugins.modules.node_check import OPTIONS

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLAYBOOKS = ROOT / "playbooks"
# The playbooks of the same names run these.
APART = {"hca_firmware", "fabric_monitor"}


def test_each_concern_with_hints_has_a_look() -> None:
    assert {name for name, concern in CONCERNS.items() if concern.hints is not None} <= set(LOOKS) <= set(CONCERNS)


def test_no_role_of_the_site_runs_unvalidated() -> None:
    """With --skip-tags always, the play that validates is skipped."""
    text = "".join((PLAYBOOKS / name).read_text(encoding="utf-8") for name in ("site.yml", "shared/install.yml", "shared/configure.yml"))
    (guard,) = re.findall(r"when: rdma_site is not defined\n\s+run_once: true\n\s+tags: \[(.*)\]", text)
    assert set(guard.split(", ")) == set(re.findall(r"name: rdma\.ofed\.(\w+)$", text, re.MULTILINE)) - {"node_check"}


def test_each_role_that_can_be_absent_is_removed() -> None:
    text = (PLAYBOOKS / "remove.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"name: rdma\.ofed\.(\w+)", text)) == {name for name in ROLES if name + "_state" in CONCERNS[name].variables}


def test_what_a_concern_needs_comes_before_it() -> None:
    assert [(name, needed) for index, name in enumerate(ROLES) for needed in CONCERNS[name].needs if needed not in ROLES[:index]] == []


def test_each_role_is_in_the_site_and_left_out_where_it_has_to_be() -> None:
    plays = yaml.safe_load((PLAYBOOKS / "site.yml").read_text(encoding="utf-8"))
    tasks = [(task, task.get("ansible.builtin.include_role") or task.get("ansible.builtin.import_role")) for task in _tasks(plays)]
    steps = [(task, role, role["name"].rpartition(".")[2]) for task, role in tasks if role and role["name"].startswith("rdma.ofed.")]
    assert {name for _task, _role, name in steps} == set(ROLES) - APART
    assert [name for _task, role, name in steps if role.get("rolespec_validate") is not False] == []
    guarded = [(name, "rdma_site.left_out.%s is not defined" % name in str(task.get("when"))) for task, _role, name in steps]
    assert [name for name, is_guarded in guarded if not is_guarded and not CONCERNS[name].reports] == []


def _tasks(blocks: list[dict[str, t.Any]]) -> t.Iterator[dict[str, t.Any]]:
    for block in blocks:
        yield block
        included = block.get("ansible.builtin.include_tasks")
        if included:
            yield from _tasks(yaml.safe_load((PLAYBOOKS / included).read_text(encoding="utf-8")))
        for part in ("tasks", "pre_tasks", "block", "rescue", "always"):
            yield from _tasks(block.get(part) or [])


def test_each_expectation_of_a_room_is_in_the_list() -> None:
    rooms = {
        path.parent.name
        for path in (ROOT / "plugins/module_utils").rglob("_expect.py")
        if re.search(r" = Expectation\(| = expect\.Expectation\(", path.read_text())
    }
    listed = (ROOT / "plugins/module_utils/_expectations.py").read_text(encoding="utf-8")
    assert rooms == set(re.findall(r"^from \.(_\w+)\._expect import", listed, re.MULTILINE))


def test_the_controller_can_judge_what_it_gets_hints_for() -> None:
    defaults = variables_of({name: option.get("default") for name, option in OPTIONS.items()})
    assert [each.name for each in EXPECTATIONS if each.hints(defaults) is not None and (each.name not in LOOKS or each.form is None)] == []


class Recorded(dict[str, t.Any]):
    """Variables that remember which of them are read."""

    def __init__(self, *args: t.Any) -> None:
        super().__init__(*args)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> t.Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: t.Any = None) -> t.Any:
        self.read.add(name)
        return super().get(name, default)

    def items(self) -> t.Any:
        self.read.update(self)
        return super().items()


@pytest.mark.parametrize("expectation", EXPECTATIONS, ids=lambda expectation: expectation.name)
def test_the_role_of_the_check_passes_on_what_an_expectation_reads(expectation: Expectation) -> None:
    """One that reads a variable that is not passed on would compare nothing."""
    variables = Recorded(variables_of({name: option.get("default") for name, option in OPTIONS.items()}))
    expectation.wanted(variables)
    assert variables.read and variables.read <= set(variables)
    task = (ROOT / "roles/node_check/tasks/compare.yml").read_text(encoding="utf-8")
    passed = set(re.findall(r"^\s+(\w+): ", task, re.MULTILINE))
    assert set(expectation.options) <= passed
