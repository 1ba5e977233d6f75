# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The validation tells which roles have nothing to do on a host, from what nodes of a lab have answered."""

from __future__ import annotations

import json
import pathlib
import typing as t
from unittest import mock

import pytest
import yaml
from ansible import constants
from ansible_collections.rdma.ofed.plugins.action import validate_site
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Concern, Subject
from ansible_collections.rdma.ofed.plugins.module_utils._site._settled import ORDER, settled
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked

PLAYBOOKS = pathlib.Path(__file__).resolve().parents[4] / "playbooks"
RECORDED = json.loads((pathlib.Path(__file__).resolve().parents[4] / "tests/bench/recorded.json").read_text(encoding="utf-8"))
IB0 = [{"name": "ib0", "addresses": ["10.20.0.2/24"], "mode": "auto"}]


def found(case: str, kind: str = "compute", tmp_path: pathlib.Path = pathlib.Path(), **variables: t.Any) -> list[str]:
    """Return the settled roles of a host that has answered the look in this way."""
    text = RECORDED[case][kind]["rdma_facts"][0].replace("@ADDRESS@", "10.20.0.2").replace("@GUID@", "0002c9030000101")
    answer = json.loads(text)
    host = {"manager": "node1", "compute": "node2"}[kind]
    templar = mock.Mock()
    templar.template = lambda value: value
    task: t.Any = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args={"foresee": True, "fail": False}, _uuid="1")
    action = validate_site.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), templar, mock.Mock())
    with mock.patch.object(constants, "DEFAULT_LOCAL_TMP", str(tmp_path)):
        _looks.keep(host, answer["look"])
        result = action.run(
            task_vars={
                "inventory_hostname": host,
                "ansible_facts": {"rdma": marked(answer["ansible_facts"]["rdma"])},
                "groups": {"rdma": ["node1", "node2"], "opensm": ["node1"]},
                "hostvars": {"node1": {}, "node2": {}},
                "ansible_play_hosts": [host],
                "ipoib_interfaces": IB0,
                **variables,
            }
        )
    assert result["wrong"] == [], result
    return t.cast("list[str]", result["settled"])


def test_a_node_as_declared_needs_no_role(tmp_path: pathlib.Path) -> None:
    assert found("unchanged", tmp_path=tmp_path) == list(ORDER)
    assert found("unchanged", tmp_path=tmp_path, opensm_state="unmanaged") == list(ORDER)


def test_roles_after_the_first_with_work_are_not_settled(tmp_path: pathlib.Path) -> None:
    assert found("drifted", tmp_path=tmp_path) == ["ofed", "kernel_modules", "soft_rdma", "opensm"]
    assert found("unchanged", tmp_path=tmp_path, soft_rdma_links=[{"name": "rxe0", "type": "rxe", "netdev": "eth0"}]) == ["ofed", "kernel_modules"]
    assert found("unchanged", tmp_path=tmp_path, kernel_modules_load=["ib_umad", "ib_srpt"]) == ["ofed"]
    assert found("first", tmp_path=tmp_path) == []


def test_a_host_with_a_subnet_manager_always_asks_it(tmp_path: pathlib.Path) -> None:
    own = [{**IB0[0], "addresses": ["10.20.0.1/24"]}]
    assert found("unchanged", "manager", tmp_path=tmp_path, ipoib_interfaces=own) == ["ofed", "kernel_modules", "soft_rdma"]


@pytest.mark.parametrize("variables", [{"gpudirect_method": "auto"}, {"gpudirect_state": "absent"}])
def test_gpudirect_always_reports_where_it_is_declared(variables: dict[str, t.Any], tmp_path: pathlib.Path) -> None:
    assert found("unchanged", tmp_path=tmp_path, **variables) == list(ORDER[:-1])


def test_an_outcome_of_an_earlier_playbook_is_replaced(tmp_path: pathlib.Path) -> None:
    assert found("unchanged", tmp_path=tmp_path, ipoib_outcome={"changed": True}) == []


@pytest.mark.parametrize("told", ["changes", "pending", "reasons", "warnings"])
def test_a_role_that_has_something_to_report_runs(told: str) -> None:
    """Nothing is changed, and the task still has to be there for what it prints."""
    concerns = dict.fromkeys(ORDER, Concern("any", {}, settled=lambda _subject: True))
    concerns["kernel_modules"] = Concern("kernel_modules", {}, unchanged=lambda _options, _found: {told: ["something"]})
    subject = Subject("node1", {}, {}, options=dict, found=())
    assert settled(concerns, dict.fromkeys(ORDER, subject)) == ["ofed"]
    concerns["kernel_modules"] = Concern("kernel_modules", {}, unchanged=lambda _options, _found: {told: []})
    assert settled(concerns, dict.fromkeys(ORDER, subject)) == list(ORDER)


def test_roles_that_the_host_is_left_out_of_need_no_task() -> None:
    """A host with one fault costs a run no more than others, as long as the fault stays."""
    concerns = dict.fromkeys(ORDER, Concern("any", {}, settled=lambda _subject: True))
    concerns.update(dict.fromkeys(("kernel_modules", "ipoib"), Concern("any", {}, settled=lambda _subject: False)))
    abouts = dict.fromkeys(ORDER, Subject("node1", {}, {}))
    assert settled(concerns, abouts) == ["ofed"]
    assert settled(concerns, abouts, {"kernel_modules": ["no such port"]}) == list(ORDER[: ORDER.index("ipoib")])
    assert settled(concerns, abouts, {"kernel_modules": ["no such port"], "ipoib": ["a profile"]}) == list(ORDER)


def test_each_role_that_the_site_may_leave_out_can_tell() -> None:
    """The site includes each file unless its last role is settled, and so all roles before that one."""
    included = []
    for name, last in (("install", "soft_rdma"), ("configure", "gpudirect")):
        roles = [
            task[how]["name"].rpartition(".")[2]
            for task in yaml.safe_load((PLAYBOOKS / "shared" / (name + ".yml")).read_text())
            for how in task
            if "role" in how
        ]
        assert roles[-1] == last
        included.append((PLAYBOOKS / "site.yml").read_text().count("include_tasks: shared/%s.yml\n          when: \"'%s' not in" % (name, last)))
        assert set(roles) <= set(ORDER)
    assert included == [1, 1]
