# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requirements of controller and nodes: each playbook checks them first, and all lists of versions agree."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
import yaml
from support.playbook_plays import judges_controller, plays

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLAYBOOKS = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))


def load(path: str) -> t.Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_each_playbook_judges_the_controller_first(playbook: str) -> None:
    first, *_others = plays(playbook)
    assert judges_controller(first)
    assert first["tasks"][:2] == load("playbooks/shared/need_controller.yml")
    assert first["tasks"][0]["ansible.builtin.assert"]["that"].startswith("ansible_version.full is version(")


# One installs a Python, and the other runs on the controller alone.
@pytest.mark.parametrize("playbook", sorted({*PLAYBOOKS} - {"bootstrap", "rehearse"}))
def test_each_playbook_judges_the_python_of_nodes_before_the_first_module(playbook: str) -> None:
    of_nodes = [task for play in plays(playbook) if not judges_controller(play) for task in play["tasks"]]
    # These two are evaluated on the controller.
    first, *others = (task for task in of_nodes if not {"ansible.builtin.assert", "ansible.builtin.fail"} & set(task))
    if "rdma.ofed.rdma_facts" in first:
        # The node inspection finds it and reports it with the input errors.
        assert first["rdma.ofed.rdma_facts"]["find_python"] is True
        return
    finds, refuses = first, others[0]
    assert "rdma.ofed.interpreter" in finds
    assert finds["register"] == refuses["rdma.ofed.report"]["variable"]
    assert refuses["run_once"] is refuses["any_errors_fatal"] is True


def test_the_oldest_versions_are_the_same_everywhere() -> None:
    of_core, of_python = load("playbooks/shared/need_controller.yml")
    conditions = (of_core["ansible.builtin.assert"]["that"], of_python["when"][-1])
    core, python = (re.findall(r"'([0-9.]+)', '(?:>=|<)'", condition)[0] for condition in conditions)
    assert load("meta/runtime.yml")["requires_ansible"] == ">=%s.0" % core
    assert {load(str(path.relative_to(ROOT)))["galaxy_info"]["min_ansible_version"] for path in ROOT.glob("roles/*/meta/main.yml")} == {core}
    assert "ansible-core %s or later with Python %s or later" % (core, python) in (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r'^OLDEST_CORE = "%s"$' % core, (ROOT / "tests/tools/virtualenvs.py").read_text(encoding="utf-8"), re.MULTILINE)
