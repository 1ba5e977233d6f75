# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules planned on the controller from the results of one inspection."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t
from unittest import mock

import pytest
from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.rdma.ofed.plugins.action import kernel_modules, opensm, rdma_facts, validate_site
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _concern
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import LOAD_PATH, Entry
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found, Seen
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import Catalogue
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found as SubnetManagers
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._places import PACKAGED
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks

USUAL = _concern.USUAL
FOUND = Found(
    release="6.1",
    catalogue=Catalogue(frozenset(USUAL)),
    loaded=dict.fromkeys(USUAL, False),
    rdma_core=True,
    entries=tuple(Entry(name, "/etc/rdma/modules/infiniband.conf", line) for line, name in enumerate(USUAL, 1)),
)
NO_SUBNET_MANAGER = SubnetManagers(masked=PACKAGED)
VISITED = {"changed": True, "from": "the node"}


@pytest.fixture(autouse=True, name="folder")
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    return tmp_path


def seen(found: Found = FOUND) -> dict[str, t.Any]:
    return {"kernel_modules": encode(Seen(frozenset(USUAL), frozenset(), found))}


def run(
    plugin: t.Any, arguments: dict[str, t.Any], answer: dict[str, t.Any] | Exception | None = None, facts: dict[str, t.Any] | None = None, **task: t.Any
) -> tuple[dict[str, t.Any], list[dict[str, t.Any]]]:
    """Return the result, and the arguments of each module execution."""
    fields: dict[str, t.Any] = {"async_val": 0, "check_mode": False, "diff": False, "delegate_to": None, "args": arguments, **task}
    templar = mock.Mock()
    templar.template = lambda value: value
    action = plugin.ActionModule(mock.Mock(**fields), mock.Mock(), mock.Mock(), mock.Mock(), templar, mock.Mock())
    executions: list[dict[str, t.Any]] = []

    def execute(module_name: str, module_args: dict[str, t.Any], **_more: t.Any) -> dict[str, t.Any]:
        executions.append(module_args)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer or VISITED)

    action._execute_module = execute
    variables = {"inventory_hostname": "node1", "kernel_modules_load": ["ib-umad", "ib_srp"], "kernel_modules_options": {"mlx5_core": {"x": 1}}}
    hostvars = {"node1": {"ansible_facts": facts or {}}, "node2": {"ansible_facts": {}}}
    return action.run(task_vars={**variables, "ansible_facts": facts or {}, "hostvars": hostvars}), executions


def test_a_node_that_is_as_declared_is_not_visited() -> None:
    _looks.keep("node1", seen())
    result, executions = run(kernel_modules, {"load": list(USUAL)})
    assert not executions
    assert result["changed"] is False
    assert result["modules"][0] == {"name": "ib_ipoib", "module": "ib_ipoib", "loaded": True, "persisted_by": "/etc/rdma/modules/infiniband.conf line 4"}
    assert _looks.recall("node1", "kernel_modules") is not None


@pytest.mark.parametrize(
    ("found", "arguments"),
    [
        (FOUND._replace(loaded={}), {"load": list(USUAL)}),
        (FOUND, {"load": [*USUAL, "ib_srp"]}),
        (FOUND, {"load": list(USUAL), "options": {"ib_ipoib": {"send_queue_size": 512}}}),
        (FOUND, {"load": list(USUAL), "load_now": False}),
        (FOUND, {"load": "no list of names", "state": "wrong"}),
        (FOUND._replace(rdma_core=False), {"load": [], "assume_rdma_core": True}),
        (FOUND._replace(files={**FOUND.files, LOAD_PATH: "something of ours"}), {"load": list(USUAL)}),
    ],
)
def test_any_other_node_is_visited(found: Found, arguments: dict[str, t.Any]) -> None:
    _looks.keep("node1", seen(found))
    result, executions = run(kernel_modules, arguments)
    assert executions == [arguments]
    assert result["from"] == "the node"
    assert _looks.recall("node1", "kernel_modules") is None, "the node was changed since the look"
    assert LOAD_PATH not in json.dumps(result)


def test_check_mode_keeps_the_look() -> None:
    _looks.keep("node1", seen(FOUND._replace(loaded={})))
    _result, executions = run(kernel_modules, {"load": list(USUAL)}, check_mode=True)
    assert len(executions) == 1
    assert _looks.recall("node1", "kernel_modules") is not None


@pytest.mark.parametrize("task", [{"async_val": 60}, {"delegate_to": "node2"}])
def test_a_task_for_later_or_for_another_node_is_not_planned_here(task: dict[str, t.Any]) -> None:
    _looks.keep("node1", seen())
    _result, executions = run(kernel_modules, {"load": list(USUAL)}, **task)
    assert len(executions) == 1


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_node_whose_connection_broke_is_no_longer_known(check_mode: bool) -> None:
    _looks.keep("node1", seen(FOUND._replace(loaded={})))
    with pytest.raises(AnsibleConnectionFailure):
        run(kernel_modules, {"load": list(USUAL)}, AnsibleConnectionFailure("gone"), check_mode=check_mode)
    assert (_looks.recall("node1", "kernel_modules") is not None) == check_mode


def test_a_delegated_change_is_one_of_the_other_node() -> None:
    _looks.keep("node2", seen())
    run(kernel_modules, {"load": list(USUAL)}, delegate_to="node2")
    assert _looks.recall("node2", "kernel_modules") is None


def test_without_a_look_the_node_is_visited() -> None:
    _result, executions = run(kernel_modules, {"load": list(USUAL)})
    assert len(executions) == 1


def test_the_look_is_kept_only_where_that_is_declared_and_is_in_no_result() -> None:
    answer = {"changed": False, "ansible_facts": {"rdma": {}}, "look": {"kernel_modules": ["secret"]}}
    result, executions = run(rdma_facts, {"keep_look": "true"}, answer)
    assert executions[0]["look"]["kernel_modules"] == {"names": sorted({*USUAL, "ib_srp", "mlx5_core"}), "options": ["mlx5_core"]}
    assert executions[0]["look"]["opensm"] == {"manages": False}
    assert "look" not in result
    assert _looks.recall("node1", "kernel_modules") == ["secret"]
    for value in ("on", "1", 1, "True"):
        assert "look" in run(rdma_facts, {"keep_look": value}, answer)[1][0]
    assert "look" not in run(rdma_facts, {"keep_look": True}, answer, async_val=60)[1][0]
    _looks.keep("node1", {"kernel_modules": ["secret"]})
    _result, executions = run(rdma_facts, {}, {"changed": False, "ansible_facts": {}})
    assert executions == [{}]
    assert _looks.recall("node1", "kernel_modules") is None, "an older look is not kept beside newer facts"


def test_facts_are_gathered_again_unless_this_run_has_gathered_them_all() -> None:
    answer = {"changed": False, "ansible_facts": {"rdma": {"os": {}, "gpu": {}, "ports": []}}}
    first, executions = run(rdma_facts, {"reuse": True, "gather": ["gpu", "ports"]}, answer)
    assert len(executions) == 1
    gathered = first["ansible_facts"]
    assert {**gathered["rdma"], "run": ""} == {**answer["ansible_facts"]["rdma"], "run": ""}

    def visits(facts: dict[str, t.Any], **arguments: t.Any) -> int:
        _looks.keep("node1", seen())
        result, executions = run(rdma_facts, {"reuse": True, "gather": ["gpu", "ports"], **arguments}, answer, facts=facts)
        assert result.get("skipped", False) == (not executions)
        assert (_looks.recall("node1", "kernel_modules") is None) == bool(executions)
        return len(executions)

    assert visits(gathered) == 0
    assert visits(gathered, gather=["gpu", "usage"]) == 1
    assert visits(gathered, reuse=False) == 1
    # Facts in a fact cache are from another run.
    assert visits({"rdma": {**gathered["rdma"], "run": "ansible-local-1"}}) == 1
    assert visits({"rdma": {"gpu": {}, "ports": []}}) == 1


def test_facts_for_another_host_are_those_of_that_host() -> None:
    answer = {"changed": False, "ansible_facts": {"rdma": {"ports": []}}}
    gathered = run(rdma_facts, {"gather": ["ports"]}, answer)[0]["ansible_facts"]
    for owner, visits in (("node1", 0), ("node2", 1)):
        _looks.keep("node1", seen())
        _result, executions = run(rdma_facts, {"reuse": True, "gather": ["ports"]}, answer, facts=gathered, delegate_to=owner, delegate_facts=True)
        assert len(executions) == visits
        assert _looks.recall("node1", "kernel_modules") is not None, "nothing new is known of this host"


def test_only_the_user_of_the_run_can_read_it(folder: pathlib.Path) -> None:
    _looks.keep("node1", seen())
    (kept,) = folder.iterdir()
    assert kept.stat().st_mode & 0o077 == 0


def test_what_is_kept_of_kernel_modules_is_small() -> None:
    assert len(json.dumps(seen())) < 2000
    assert decode(Seen, json.loads(json.dumps(seen()))["kernel_modules"]).found == FOUND


@pytest.mark.parametrize(("instances", "running", "visits"), [([], (), 0), ([], ("opensm.service",), 1), ([{"fabric": "ib"}], (), 1)])
def test_only_where_a_subnet_manager_is_or_shall_be_the_node_is_visited(instances: list[t.Any], running: tuple[str, ...], visits: int) -> None:
    masked = NO_SUBNET_MANAGER.masked
    _looks.keep("node1", {"opensm": encode(NO_SUBNET_MANAGER._replace(running=running))})
    result, executions = run(opensm, {"instances": instances, "wait_timeout": "60"})
    assert len(executions) == visits
    assert visits or (result["changed"], result["fabrics"]) == (False, [])
    assert masked, "packages bring units, which are masked on a node without a subnet manager"


def test_an_old_look_is_no_look(folder: pathlib.Path) -> None:
    _looks.keep("node1", seen())
    (kept,) = (folder / "rdma-ofed-looks").iterdir()
    os.utime(kept, (0, 0))
    assert _looks.recall("node1", "kernel_modules") is None


def validated(arguments: dict[str, t.Any]) -> dict[str, t.Any]:
    return run(validate_site, arguments)[0]


TOO_OLD = "ansible_python_interpreter is 3.6.8; allowed: 3.8 or later"
ANSWER = {"changed": False, "ansible_facts": {"rdma": {}}, "look": {"opensm": []}}


@pytest.mark.parametrize(
    ("declared", "found", "answer", "sought", "ran", "wrong"),
    [
        # A declared Python needs no query.
        ("/usr/bin/python3", {"wrong": [TOO_OLD]}, ANSWER, 0, 1, None),
        ("/usr/bin/python3", {"wrong": [TOO_OLD]}, {"failed": True, "msg": "SyntaxError"}, 1, 1, [TOO_OLD]),
        ("/usr/bin/python3", {"wrong": []}, {"failed": True, "msg": "no space left"}, 1, 1, None),
        ("/usr/bin/python3", {"wrong": []}, {"failed": True, "refused": True, "msg": "this takes root"}, 0, 1, None),
        ("auto", {"wrong": [], "ansible_facts": {"discovered_interpreter_python": "/usr/bin/python3.11"}}, ANSWER, 1, 1, None),
        ("auto", {"wrong": ["no Python"]}, ANSWER, 1, 0, ["no Python"]),
    ],
)
def test_the_look_finds_the_python_where_it_has_to(
    monkeypatch: pytest.MonkeyPatch, declared: str, found: dict[str, t.Any], answer: dict[str, t.Any], sought: int, ran: int, wrong: list[str] | None
) -> None:
    questions: list[t.Any] = []
    monkeypatch.setattr(rdma_facts.ActionModule, "_sought", lambda _action, task_vars: questions.append(task_vars) or found)
    monkeypatch.setattr(rdma_facts, "declared_python", lambda _templar, _variables: "" if declared == "auto" else declared)
    result, executions = run(rdma_facts, {"keep_look": True, "find_python": True}, answer)
    assert (len(questions), len(executions)) == (sought, ran)
    assert result.get("wrong") == wrong
    assert result.get("failed", False) == (wrong is None and answer.get("failed", False))
    # The validation reports it for all hosts at once.
    assert _looks.recall("node1", "python") == wrong
    assert validated({"role": "ofed", "fail": False})["wrong"] == (wrong or [])
    assert validated({"role": "ofed"}).get("problems", []) == ["node1: %s" % each for each in wrong or ()]
    known = result.get("ansible_facts", {}).get("discovered_interpreter_python")
    assert known == (found.get("ansible_facts") or {}).get("discovered_interpreter_python")
