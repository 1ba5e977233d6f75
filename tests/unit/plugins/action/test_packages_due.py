# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages by purpose: when the module visits the node, and when it has nothing to do."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.rdma.ofed.plugins.action import packages
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, due, known_packages
from ansible_collections.rdma.ofed.plugins.module_utils._record import encode
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked
from hypothesis import given
from hypothesis import strategies as st

Answer = t.Dict[str, t.Any]
UNCHANGED = {"changed": False, "changes": []}


@pytest.fixture(autouse=True)
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


class Host:
    """A host behind the action plugin: the findings of the inspection, and the executions there."""

    def __init__(self, family: str = "Debian", installed: dict[str, str] | None = None) -> None:
        self.facts: dict[str, t.Any] = {"os": {"family": family, "name": "Some Linux"}}
        _looks.forget("node1")
        if installed is not None:
            _looks.keep("node1", {"packages": encode(installed)})
        self.executed: list[dict[str, t.Any]] = []
        self.check_mode = False

    def execute(self, module_args: dict[str, t.Any], **_more: t.Any) -> Answer:
        self.executed.append(module_args)
        return {"changed": True, "changes": ["from the module"]}

    def run(self, **arguments: t.Any) -> Answer:
        task = mock.Mock(async_val=0, check_mode=self.check_mode, diff=False, delegate_to=None, args=arguments)
        plugin = packages.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
        plugin._execute_module = self.execute
        result: Answer = plugin.run(task_vars={"inventory_hostname": "node1", "ansible_facts": {"rdma": marked(self.facts)} if self.facts else {}})
        return result


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_nothing_is_executed_where_the_look_found_all(family: t.Any) -> None:
    purposes = ["core", "tools", "opensm", "diagnostics", "firmware"]
    host = Host(family.name, dict.fromkeys(family.names(purposes), "1"))
    assert host.run(purposes=purposes) == {**UNCHANGED, "missing_purposes": []}
    assert host.executed == []
    assert _looks.recall("node1", "packages") is not None
    assert host.run(purposes=purposes, trust_look=False)["changed"] is True
    assert _looks.recall("node1", "packages") is None, "the node is another one now"
    host = Host(family.name, dict.fromkeys(family.names(purposes), "1"))
    assert host.run(purposes=purposes, names=["bash"])["changed"] is True
    host = Host(family.name, {"bash": "5"})
    assert host.run(purposes=["removable"], state="absent") == UNCHANGED
    assert host.executed == []


def test_the_module_gets_the_options_of_the_task() -> None:
    host = Host()
    result = host.run(purposes=["opensm"], names=["bash"], start_services=False)
    assert (result["changed"], result["changes"]) == (True, ["from the module"])
    (given_,) = host.executed
    assert {key: given_[key] for key in ("purposes", "names", "state", "needed", "start_services")} == {
        "purposes": ["opensm"],
        "names": ["bash"],
        "state": "present",
        "needed": "keep",
        "start_services": False,
    }


def test_after_a_connection_that_broke_nothing_is_known_of_packages() -> None:
    host = Host("Debian", {"bash": "5"})

    def broken(**_more: t.Any) -> t.NoReturn:
        raise AnsibleConnectionFailure("gone")

    host.execute = broken  # type: ignore[method-assign]
    with pytest.raises(AnsibleConnectionFailure):
        host.run(purposes=["opensm"])
    assert _looks.recall("node1", "packages") is None


def test_check_mode_leaves_what_the_look_found() -> None:
    host = Host("Debian", {"bash": "5"})
    host.check_mode = True
    assert host.run(purposes=["opensm"])["changed"] is True
    assert _looks.recall("node1", "packages") is not None


def test_what_is_only_asked_beforehand_is_not_counted_with() -> None:
    host = Host("Debian", {"bash": "5"})
    host.check_mode = True
    host.execute = lambda **_more: {"changed": True, "transaction": {"installed": {"opensm": "3"}, "removed": []}}  # type: ignore[method-assign]
    assert host.run(purposes=["opensm"], remembered=False)["changed"] is True
    assert host.run(purposes=["opensm"])["changed"] is True
    assert host.run(purposes=["opensm"])["changed"] is False
    assert host.run(purposes=["opensm"], remembered=False)["changed"] is True


def test_check_mode_counts_with_what_it_foresaw() -> None:
    host = Host("Debian", {"bash": "5"})
    host.check_mode = True
    answers = [{"installed": {"opensm": "3", "infiniband-diags": "44"}, "removed": []}, {"installed": {}, "removed": ["opensm"]}, {}]

    def execute(module_args: dict[str, t.Any], **_more: t.Any) -> Answer:
        host.executed.append(module_args)
        return {"changed": True, "changes": [], "transaction": answers[len(host.executed) - 1]}

    host.execute = execute  # type: ignore[method-assign]
    host.run(purposes=["opensm"])
    assert host.run(purposes=["opensm", "diagnostics"])["changed"] is False
    host.run(purposes=["opensm"], state="absent")
    assert host.run(purposes=["opensm"])["changed"] is True
    assert [each["foreseen"] for each in host.executed] == [
        {"installed": {}, "removed": ()},
        {"installed": {"opensm": "3", "infiniband-diags": "44"}, "removed": []},
        {"installed": {"infiniband-diags": "44"}, "removed": ["opensm"]},
    ]


@pytest.mark.parametrize("facts", [{}, {"os": {"family": "Unknown", "name": "Gentoo"}}], ids=["no facts", "another distribution"])
def test_without_a_known_family_the_module_looks_for_itself(facts: dict[str, t.Any]) -> None:
    host = Host()
    host.facts = facts
    assert host.run(purposes=["opensm"])["changes"] == ["from the module"]


def test_an_unknown_purpose_is_refused() -> None:
    result = Host().run(purposes=["opensm", "coffee"])
    assert result["failed"] is True
    assert "purposes[1] is 'coffee'" in result["msg"]


some_names = st.lists(st.sampled_from([*sorted(known_packages())[:6], "bash", "zsh=5.9"]), unique=True)


@given(some_names, st.sets(st.sampled_from([*sorted(known_packages())[:6], "bash"])))
def test_after_the_work_nothing_is_due(names: list[str], there: set[str]) -> None:
    before = dict.fromkeys(there, "1")
    assert due(names, "present", None) == due(names, "absent", None) == names
    if "zsh=5.9" not in names:
        assert due(names, "present", {**before, **dict.fromkeys(names, "1")}) == []
    left = {name: version for name, version in before.items() if name not in due(names, "absent", before)}
    assert not set(names) & set(left)
    assert set(due(names, "absent", left)) <= {"bash", "zsh=5.9"}, "the facts can't tell that these are gone"
