# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules with nothing to do on many nodes, as the facts of this run show."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible import constants
from ansible_collections.rdma.ofed.plugins.action import gpudirect, soft_rdma
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import facts_of, marked

LINK = {"name": "rxe0", "type": "rxe", "netdev": "eth0"}
NOTHING: dict[str, t.Any] = {"soft_links": [], "gpu": {"devices": [], "managed": []}}
MLNX = {"stack_replaced": True, "source": "mlnx_ofed", "version": "5.8-1"}
GPU = {"gpu": {"devices": [{"pci": "0000:18:00.0"}], "managed": []}}


@pytest.fixture(autouse=True)
def _run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


def run(plugin: t.Any, arguments: dict[str, t.Any], facts: t.Any, **task: t.Any) -> tuple[bool, dict[str, t.Any]]:
    """Return whether the module visits the node, and the result."""
    fields: dict[str, t.Any] = {"async_val": 0, "check_mode": False, "diff": False, "delegate_to": None, "args": arguments, **task}
    action = plugin.ActionModule(mock.Mock(**fields), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
    action._execute_module = mock.Mock(return_value={"changed": False})
    result = action.run(task_vars={"inventory_hostname": "node1", "ansible_facts": {"rdma": facts}})
    return action._execute_module.called, result


def passed(arguments: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the arguments of the module gpudirect."""
    task = mock.Mock(async_val=0, check_mode=True, diff=False, delegate_to=None, args=arguments)
    action = gpudirect.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
    action._execute_module = mock.Mock(return_value={"changed": False})
    action.run(task_vars={"inventory_hostname": "node1", "ansible_facts": {"rdma": marked(GPU)}})
    found: dict[str, t.Any] = action._execute_module.call_args.kwargs["module_args"]
    return found


@pytest.mark.parametrize("plugin", [soft_rdma, gpudirect])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_node_that_has_nothing_for_it_is_not_visited(plugin: t.Any, state: str) -> None:
    visited, result = run(plugin, {"state": state}, marked(NOTHING))
    assert not visited
    assert (result["changed"], result["changes"], result["pending"]) == (False, [], [])


@pytest.mark.parametrize(
    "plugin, arguments, facts",
    [
        (soft_rdma, {"links": [LINK]}, NOTHING),
        (soft_rdma, {}, {"soft_links": [LINK]}),
        (soft_rdma, {"state": "absent"}, {"soft_links": [LINK]}),
        (soft_rdma, {"state": "absent"}, {}),
        # The module itself reports errors.
        (soft_rdma, {"state": "absent", "links": [1]}, NOTHING),
        (soft_rdma, {"state": "gone"}, NOTHING),
        (gpudirect, {}, GPU),
        (gpudirect, {"state": "absent"}, {"gpu": {"devices": [], "managed": ["/etc/systemd/system/rdma-ofed-gpudirect.service"]}}),
        (gpudirect, {}, {}),
        (gpudirect, {"timeout": -1}, NOTHING),
    ],
)
def test_any_other_node_is_visited(plugin: t.Any, arguments: dict[str, t.Any], facts: dict[str, t.Any]) -> None:
    assert run(plugin, arguments, marked(facts))[0]


@pytest.mark.parametrize("task", [{"delegate_to": "node2"}, {"async_val": 60}])
def test_facts_tell_nothing_of_another_node_and_for_no_job(task: dict[str, t.Any]) -> None:
    assert run(soft_rdma, {}, marked(NOTHING), **task)[0]


def test_facts_count_no_longer_where_the_module_has_been() -> None:
    """A play may create and remove links."""
    facts = marked(NOTHING)
    assert run(soft_rdma, {"links": [LINK]}, facts, check_mode=True)[0]
    assert not run(soft_rdma, {"state": "absent"}, facts)[0]
    assert run(soft_rdma, {"links": [LINK]}, facts)[0]
    assert run(soft_rdma, {"state": "absent"}, facts)[0]
    assert not run(gpudirect, {}, facts)[0]


@pytest.mark.parametrize(
    "outcome, assumed",
    [
        ({"stack_replaced": False, "source": "doca"}, {}),
        (
            {"stack_replaced": True, "source": "mlnx_ofed", "version": "5.8-1", "driver_waits": True},
            {"assume_stack": "installed", "assume_ofed_version": "5.8-1"},
        ),
        (
            {"stack_replaced": True, "source": "mlnx_ofed", "version": "5.8-1", "driver_waits": False},
            {"assume_stack": "loaded", "assume_ofed_version": "5.8-1"},
        ),
        ({"stack_replaced": True, "source": "doca", "version": "2.9", "driver_waits": True}, {"assume_stack": "installed", "assume_ofed_version": ""}),
        ({"stack_replaced": True, "source": "inbox", "version": "", "driver_waits": True}, {"assume_stack": "removed", "assume_ofed_version": ""}),
        ({"stack_replaced": True, "source": "", "version": "", "driver_waits": False}, {"assume_stack": "unloaded", "assume_ofed_version": ""}),
        ({}, {}),
        ("x", {"stack_outcome": "x"}),
    ],
)
def test_the_stack_that_comes_is_assumed(outcome: t.Any, assumed: dict[str, str]) -> None:
    assert passed({"stack_outcome": outcome}) == assumed
    if isinstance(outcome, dict) and assumed:
        assert passed({"stack_outcome": outcome, "assume_stack": "found"})["assume_stack"] == "found"


def test_facts_are_those_of_this_run_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = marked(NOTHING)
    assert facts_of({"ansible_facts": {"rdma": facts}}) == facts
    assert [facts_of({"ansible_facts": {"rdma": other}}) for other in ({}, NOTHING, None, "rdma")] == [None] * 4
    # The cache passes them to the next run.
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", "/root/.ansible/tmp/ansible-local-8b")
    assert facts_of({"ansible_facts": {"rdma": facts}}) is None
    assert run(soft_rdma, {}, facts)[0]
