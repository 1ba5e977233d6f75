# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the action plugins read from the variables of a run, and what they return."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import tarfile
import typing as t
import xml.etree.ElementTree
from unittest import mock

import pytest
from ansible import constants
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible_collections.rdma.ofed.plugins.action import driver_stack, ipoib, kernel_policy, report, validate_site
from ansible_collections.rdma.ofed.plugins.plugin_utils import _actions, _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked
from support.made_bundles import make_archive, make_bundle


def action(plugin: t.Any, arguments: dict[str, t.Any] | None = None, template: t.Callable[[t.Any], t.Any] = lambda value: value) -> t.Any:
    task = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args=arguments or {})
    connection = mock.Mock()
    connection._shell.tmpdir = None
    templar = mock.Mock()
    templar.template = template
    return plugin.ActionModule(task, connection, mock.Mock(), mock.Mock(), templar, mock.Mock())


class HostVars(t.Dict[str, t.Any]):
    """Records the hosts whose variables were read."""

    def __init__(self, *args: t.Any) -> None:
        super().__init__(*args)
        self.read: set[str] = set()

    def __getitem__(self, host: str) -> t.Any:
        self.read.add(host)
        return super().__getitem__(host)


UNKNOWN = "(this collection has no variable %s; if it is your own, list it in rdma_own_variables)"
HOSTS = ["node1", "node2", "node3"]


def validate(
    host: str, groups: dict[str, list[str]] | None = None, template: t.Callable[[t.Any], t.Any] = lambda value: value, **variables: t.Any
) -> dict[str, t.Any]:
    hostvars = HostVars({name: {} for name in HOSTS})
    task_vars = {
        "inventory_hostname": host,
        "groups": groups or {"rdma": HOSTS, "opensm": ["node1", "node2"]},
        "hostvars": hostvars,
        "ansible_play_hosts": HOSTS,
        "ansible_facts": {},
        **variables,
    }
    result: dict[str, t.Any] = action(validate_site, template=template).run(task_vars=task_vars)
    # Reading the variables of all hosts for each host would delay a large site by minutes.
    assert hostvars.read <= {"node1", "node2"}
    return result


def test_one_role_is_judged_by_its_own_variables() -> None:
    kernel = {"release": "6.1.0-50-amd64", "running": True, "modules": {"nvme_rdma": False}}
    task_vars = {
        "inventory_hostname": "node1",
        "ansible_facts": {"rdma": marked({"kernels": {"installed": [kernel]}})},
        "ofed_ulps": ["nvmf"],
        "ipoib_interfaces": "of no interest",
    }
    plugin = action(validate_site, {"role": "ofed"})
    result = plugin.run(task_vars=task_vars)
    assert (result["failed"], len(result["problems"])) == (True, 1)
    assert "node1: ofed_ulps is 'nvmf'; allowed: protocols that the running kernel has modules for" in result["msg"]
    fine = action(validate_site, {"role": "ofed"}).run(task_vars={**task_vars, "ofed_ulps": []})
    assert "failed" not in fine
    assert "designated" not in fine


def test_what_a_role_refuses_later_leaves_out_what_needs_it_too() -> None:
    site = {"left_out": {"ipoib": ["no port"]}, "opensm": "resting", "warnings": ["shown before"]}
    plugin = action(validate_site, {"refused": {"ofed": ["no such package"]}})
    result = plugin.run(task_vars={"inventory_hostname": "node1", "rdma_site": site})
    assert result["left_out"]["ofed"] == ["no such package"] and result["left_out"]["ipoib"] == ["no port", "no such package"]
    assert result["opensm"] == "resting" and "warnings" not in result
    plugin = action(validate_site, {"refused": {"nosuch": ["x"], "ofed": "x"}})
    words = plugin.run(task_vars={"inventory_hostname": "node1", "rdma_site": site})["msg"]
    assert "refused is 'nosuch'; allowed: all, ofed" in words and "refused.ofed is 'x'; allowed: a list of reasons" in words


def test_good_input_names_the_designated_host() -> None:
    result = validate("node3", ipoib_interfaces=[{"name": "ib0"}])
    assert {key: result[key] for key in ("changed", "fabric", "designated_host", "designated")} == {
        "changed": False,
        "fabric": "ib",
        "designated_host": "node1",
        "designated": False,
    }
    assert "failed" not in result
    assert validate("node1")["designated"] is True


def test_bad_input_names_host_variable_value_and_what_is_allowed() -> None:
    result = validate("node2", ipoib_interfaces=[{"name": "ib0", "mtu": 9000, "mode": "datagram"}], fabric=3)
    assert result["failed"] is True
    assert result["problems"][0] == "node2: fabric is 3; allowed: a name of up to 31 letters, digits, dots, dashes and underscores"
    assert result["problems"][1] == "node2: ipoib_interfaces[0].mtu is 9000; allowed: 68 to 4092 in datagram mode"
    assert all(problem in result["msg"] for problem in result["problems"])


def test_a_misspelt_prefix_is_named() -> None:
    assert validate("node2", ipoip_interfaces=[], kernel_module_load=["ib_umad"], fabrik="ib")["problems"] == [
        "node2: fabrik is unknown; allowed: fabric %s" % (UNKNOWN % "fabrik"),
        "node2: ipoip_interfaces is unknown; allowed: ipoib_interfaces %s" % (UNKNOWN % "ipoip_interfaces"),
        "node2: kernel_module_load is unknown; allowed: kernel_modules_load %s" % (UNKNOWN % "kernel_module_load"),
    ]


def test_an_unknown_name_is_refused_unless_the_site_owns_it() -> None:
    (problem,) = validate("node2", ipoib_ifaces=[{"name": "ib0"}])["problems"]
    assert problem.startswith("node2: ipoib_ifaces is unknown; allowed: ipoib_interfaces")
    assert "failed" not in validate("node2", ipoib_prefix="10.20", rdma_own_variables=["ipoib_prefix"])
    assert "failed" not in validate("node2", ipoib_outcome={}, rdma_site={}, rdma_pending=[])


def test_what_the_site_owns_is_not_even_evaluated() -> None:
    def template(value: t.Any) -> t.Any:
        if value == "{{ nowhere }}":
            raise AnsibleError("'nowhere' is undefined")
        return value

    assert "failed" not in validate("node2", template=template, ipoib_prefix="{{ nowhere }}", rdma_own_variables=["ipoib_prefix"])


def test_facts_are_compared_where_they_are_there() -> None:
    found = {"ports": [], "netdevs": [], "os": {"id": "debian", "version": "12"}}
    facts = {"rdma": marked(found)}
    (problem,) = validate("node3", rdma_ports=["mlx5_0/1"], ansible_facts=facts)["problems"]
    assert problem.startswith("node3: rdma_ports[0] is 'mlx5_0/1'; allowed: no port on a node without HCA")
    assert "failed" not in validate("node3", rdma_ports=["mlx5_0/1"])
    # Facts in a fact cache may be from another day.
    for stale in (found, {**found, "run": "ansible-local-1"}):
        assert "failed" not in validate("node3", rdma_ports=["mlx5_0/1"], ansible_facts={"rdma": stale})


def test_what_is_wrong_with_all_is_said_by_the_first() -> None:
    groups = {"rdma": HOSTS, "opensm": []}
    assert len(validate("node1", groups)["problems"]) == 1
    assert "failed" not in validate("node2", groups)


def test_a_template_that_fails_is_a_problem() -> None:
    def template(value: t.Any) -> t.Any:
        raise AnsibleError("'nowhere' is undefined")

    (problem,) = validate("node2", template=template, ipoib_interfaces="{{ nowhere }}")["problems"]
    assert problem == "node2: ipoib_interfaces is '{{ nowhere }}'; allowed: what can be evaluated on the controller ('nowhere' is undefined)"


def test_no_problem_shows_a_secret() -> None:
    def template(value: t.Any) -> t.Any:
        if "{{" in str(value):
            raise AnsibleError("'nowhere' is undefined")
        return value

    misspelt = validate("node2", opensm_smkey="0x00c0ffee", opensm_secret_option={"m_key": "{{ nowhere }}", "sa_key": "0x00c0ffee"}, template=template)
    assert [problem.split(";")[0] for problem in misspelt["problems"]] == ["node2: opensm_secret_option is unknown", "node2: opensm_smkey is unknown"]
    broken = validate("node2", opensm_secret_options={"m_key": "{{ nowhere }}", "sa_key": "0x00c0ffee"}, template=template)
    (problem,) = broken["problems"]
    assert problem.startswith("node2: opensm_secret_options is '(hidden)'; allowed: what can be evaluated")
    assert "c0ffee" not in repr([misspelt, broken])


def test_variables_of_others_are_not_evaluated() -> None:
    def template(value: t.Any) -> t.Any:
        raise AssertionError("evaluated %r" % value)

    assert "failed" not in validate("node2", template=template, secret="{{ lookup('pipe', 'false') }}")


def test_the_table_covers_hosts_that_were_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    monkeypatch.setattr(_actions, "Display", lambda: mock.Mock(display=printed.append))
    good = {
        "deviations": [],
        "deviation_lines": [],
        "rows": [{"port": "mlx5_0/1", "result": "OK"}],
        "fabrics": [{"fabric": "ib", "master_guid": "0x1", "designated_host": ""}],
    }
    task_vars = {
        "ansible_play_hosts_all": ["node1", "node2", "rack9"],
        "hostvars": {
            "node1": {"outcome": good},
            "node2": {"outcome": {"unreachable": True, "msg": "no route"}},
            "rack9": {"looked": {"left_out": {"all": ["no Python"]}}},
        },
    }
    plugin = action(report, {"kind": "nodes"})
    arguments = {
        "kind": "nodes",
        "variable": "outcome",
        "variables": ["looked"],
        "failures": [],
        "once_all_arrived": False,
        "foresee": False,
        "full": False,
        "quiet": False,
        "report_dir": "",
    }
    plugin.validate_argument_spec = lambda specification: (None, arguments)
    result = plugin.run(task_vars=task_vars)
    assert result["deviations"] == {"node2": ["unreachable: no route"], "rack9": ["not checked: no Python"]}
    assert "2 of 3 hosts are not as declared" in printed[0]


def verified(folder: pathlib.Path, *, check: bool = False) -> dict[str, t.Any]:
    """Return the report on four hosts: one with a link down on a hostile port name, one with the same finding accepted, one without a deviation of its own, and
    one unreachable.
    """
    hostile = 'a"<&\x1b\ud800'
    down = {"severity": "error", "code": "link_down", "kind": "port", "subject": hostile, "aspect": "", "object": "port " + hostile}
    down.update(found="DOWN", expected="ACTIVE and LinkUp", cause="", next_step="look at the cable")
    known = {**down, "accepted": {"until": "2026-12-31", "reason": hostile, "expired": False}}
    silent = {**down, "code": "no_master", "kind": "subnet_manager", "subject": "ib", "object": "subnet manager of fabric ib"}

    def outcome(*deviations: t.Any) -> dict[str, t.Any]:
        return {"outcome": {"deviations": deviations, "rows": [], "fabrics": [{"fabric": "ib", "master_guid": "", "designated_host": "node1"}]}}

    hostvars = {"node1": outcome(down, silent), "node2": outcome(known, silent), "node3": outcome(silent), "node4": {"outcome": {"unreachable": True}}}
    plugin = action(report, {"kind": "nodes", "variable": "outcome", "report_dir": str(folder)})
    plugin._task.check_mode = check
    result: dict[str, t.Any] = plugin.run(task_vars={"ansible_play_hosts_all": list(hostvars), "hostvars": hostvars})
    return result


def test_the_findings_of_all_hosts_are_written_for_tools(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "reports"
    result = verified(folder)
    assert "Report: %s/verify-findings.html" % folder in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == ["verify-findings.html", "verify-findings.json", "verify-findings.xml"]
    found = json.loads((folder / "verify-findings.json").read_text(encoding="utf-8"))
    assert found["deviating"] == list(result["deviations"]) == ["node1", "node4"]
    assert found["waiting"] == ["node2", "node3"]
    assert [(each["code"], each["fabric"], each["hosts"]) for each in found["faults"]] == [("no_master", "ib", ["node1", "node2", "node3"])]
    assert {host: [len(own[kind]) for kind in ("errors", "warnings", "accepted")] for host, own in found["hosts"].items()} == {
        "node1": [1, 0, 0],
        "node2": [0, 0, 1],
        "node3": [0, 0, 0],
        "node4": [1, 0, 0],
    }
    assert found["hosts"]["node1"]["errors"][0]["code"] == "link_down"


def test_names_from_nodes_are_text_in_the_junit_file(tmp_path: pathlib.Path) -> None:
    verified(tmp_path)
    suite = xml.etree.ElementTree.fromstring((tmp_path / "verify-findings.xml").read_bytes())
    assert [(case.get("classname"), case.get("name"), [kind.tag for kind in case]) for case in suite] == [
        ("verify.no_master", "fabric ib: subnet manager of fabric ib", ["failure"]),
        ("verify.link_down", 'node1: port a"<&??', ["failure"]),
        ("verify.link_down", 'node2: port a"<&??', ["skipped"]),
        ("verify", "node3", ["skipped"]),
        ("verify.unchecked", "node4", ["failure"]),
    ]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "3", "2")
    assert "accepted until" in suite[2][0].attrib["message"]


def test_check_mode_writes_no_report_of_the_hosts(tmp_path: pathlib.Path) -> None:
    verified(tmp_path, check=True)
    assert not list(tmp_path.iterdir())


def test_a_report_that_can_not_be_written_takes_no_finding_away(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = verified(tmp_path / "file")
    assert "2 of 4 hosts are not as declared" in capsys.readouterr().out
    assert result["failed"] and "can't be written" in result["msg"]


def test_what_is_pending_is_printed_for_all_hosts_of_the_play(capsys: pytest.CaptureFixture[str]) -> None:
    kernel, card = ({"kind": kind, "subject": "x", "aspect": "", "before": "1", "after": "2", "needs": "reboot", "why": []} for kind in ("kernel", "firmware"))
    hostvars = {"node1": {"rdma_pending": [kernel]}, "node2": {}, "node3": {"rdma_pending": [kernel, card]}}
    result = action(report, {"kind": "pending"}).run(task_vars={"ansible_play_hosts_all": HOSTS, "hostvars": hostvars})
    assert result["changed"] is False
    assert result["pending"] == {"node1": [kernel], "node3": [kernel, card]}
    assert "node[1,3]  kernel x: 1 -> 2 (needs reboot)\nnode3      adapter x: 1 -> 2 (needs reboot)\n" in capsys.readouterr().out


def test_a_pending_change_of_another_form_is_named_with_its_host() -> None:
    hostvars = {host: {"rdma_pending": ["a reboot"] if host == "node2" else []} for host in HOSTS}
    result = action(report, {"kind": "pending"}).run(task_vars={"ansible_play_hosts_all": HOSTS, "hostvars": hostvars})
    assert result["failed"]
    assert "rdma_pending of node2[0] is 'a reboot'; allowed: a mapping" in result["msg"]


def test_the_looks_of_a_run_end_with_the_table(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    _looks.keep("node2", {"kernel_modules": []})
    action(report, {"kind": "pending"}).run(task_vars={"ansible_play_hosts_all": HOSTS, "hostvars": {host: {} for host in HOSTS}})
    assert _looks.recall("node2", "kernel_modules") is None, "the playbook that follows may have changed the node"


def test_nothing_pending_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert action(report, {"kind": "pending"}).run(task_vars={"ansible_play_hosts_all": HOSTS, "hostvars": {host: {} for host in HOSTS}})["pending"] == {}
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("former", "returned"), [("fabric_table", "differences"), ("pending_table", "pending"), ("refusal_table", "left_out"), ("run_summary", "reasons")]
)
def test_by_a_former_name_a_report_is_of_its_kind(former: str, returned: str) -> None:
    plugin = action(report)
    plugin._task.action = "rdma.ofed." + former
    assert returned in plugin.run(task_vars={"ansible_play_hosts_all": HOSTS, "ansible_play_hosts": HOSTS, "hostvars": {host: {} for host in HOSTS}})


TIMER = {"unit": "rdma-ofed-ipoib-rollback.timer", "seconds": 60, "confirmed": False}


def configure(*answers: dict[str, t.Any]) -> tuple[dict[str, t.Any], list[str]]:
    """Return the result and the calls in order."""
    plugin = action(ipoib, {"interfaces": []})
    done: list[str] = []
    left = list(answers)

    def execute(module_name: str, module_args: dict[str, t.Any], **_more: t.Any) -> dict[str, t.Any]:
        done.append(" ".join([module_name, *module_args, *(str(value) for value in module_args.values() if value)]))
        return left.pop(0)

    plugin._execute_module = execute
    plugin._connection.reset = lambda: done.append("reset")
    result: dict[str, t.Any] = plugin.run(task_vars={})
    return result, done


def test_ipoib_is_one_call_of_the_module() -> None:
    assert configure({"changed": True})[1] == ["rdma.ofed.ipoib interfaces"]
    assert configure({"failed": True, "msg": "no", "rollback": TIMER})[1] == ["rdma.ofed.ipoib interfaces"]


def test_ipoib_is_confirmed_over_a_new_connection() -> None:
    result, done = configure({"changed": True, "rollback": TIMER}, {"changed": False})
    assert done == ["rdma.ofed.ipoib interfaces", "reset", "rdma.ofed.ipoib confirm rdma-ofed-ipoib-rollback.timer"]
    assert (result["rollback"]["confirmed"], result["changed"], "failed" in result) == (True, True, False)


def test_ipoib_that_was_taken_back_has_failed() -> None:
    result, _done = configure({"changed": True, "rollback": TIMER}, {"failed": True, "msg": "the timer no longer exists"})
    assert (result["failed"], result["rollback"]["confirmed"]) == (True, False)
    assert "the node reverts it 60 s after its start: the timer no longer exists" in result["msg"]


def broken_off(timeout: int, *answers: t.Any) -> dict[str, t.Any]:
    """Return the result if the connection breaks at one of the two calls: an answer may be an exception."""
    plugin = action(ipoib, {"interfaces": [], "rollback_timeout": timeout})
    plugin._execute_module = mock.Mock(side_effect=list(answers))
    result: dict[str, t.Any] = plugin.run(task_vars={})
    return result


def test_ipoib_that_can_not_be_asked_any_more_says_that_the_node_goes_back() -> None:
    result = broken_off(60, {"changed": True, "rollback": TIMER}, AnsibleConnectionFailure("no route to host"))
    assert (result["failed"], result["rollback"]["confirmed"]) == (True, False)
    assert "the node reverts it 60 s after its start: the node could not be reached over a new connection (no route to host)" in result["msg"]


def test_a_connection_that_breaks_on_the_way_says_so_too() -> None:
    with pytest.raises(AnsibleConnectionFailure, match=r"closed.*the node reverts it automatically within 60 s"):
        broken_off(60, AnsibleConnectionFailure("closed"))
    with pytest.raises(AnsibleConnectionFailure, match=r"^closed$"):
        broken_off(0, AnsibleConnectionFailure("closed"))


class Stack:
    """The module driver_stack behind its action plugin: answers in turn and records its arguments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, t.Any], answers: list[t.Any], module: t.Any = driver_stack) -> None:
        self.name = "rdma.ofed." + module.__name__.rpartition(".")[2]
        self.plugin = action(module, arguments)
        self.answers = answers
        self.asked: list[dict[str, t.Any]] = []
        self.shown: list[str] = []
        self.transferred: list[tuple[str, str]] = []
        self.archived: list[str] = []
        self.plugin._connection._shell.tmpdir = "/remote"
        self.plugin._connection._shell.join_path = lambda *parts: "/".join(parts)
        self.plugin._execute_module = self.execute
        self.plugin._transfer_file = self.transfer
        monkeypatch.setattr(driver_stack, "Display", lambda: mock.Mock(display=self.shown.append))
        monkeypatch.setattr(driver_stack.time, "sleep", lambda seconds: None)

    def execute(self, module_name: str, module_args: dict[str, t.Any], **_more: t.Any) -> dict[str, t.Any]:
        assert module_name == self.name
        self.asked.append(dict(module_args))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    def transfer(self, local: str, remote: str) -> str:
        self.transferred.append((local, remote))
        if tarfile.is_tarfile(local):
            with tarfile.open(local) as stream:
                self.archived = stream.getnames()
        return remote

    def run(self) -> dict[str, t.Any]:
        result: dict[str, t.Any] = self.plugin.run(task_vars={"inventory_hostname": "node1"})
        assert not self.answers
        return result


NEEDED = {"bundle_needed": "checksum", "bundle_release": "23.10-0.5.5.0", "bundle_architecture": os.uname().machine}


def archived(folder: pathlib.Path) -> tuple[pathlib.Path, str]:
    """Return a bundle on the controller and its checksum."""
    path = folder / "b.tgz"
    make_archive(path, "23.10-0.5.5.0")
    return path, "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


JOB = {"id": "j", "running": True, "stage": "building kernel modules", "step": 3, "steps": 7, "elapsed": 130, "log": "/log"}


def test_driver_stack_shows_progress_until_the_job_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Stack(monkeypatch, {"bundle": "/b"}, [{"job": JOB}, {"job": {**JOB, "elapsed": 150}}, {"changed": True, "changes": ["x"]}])
    assert stack.run()["changes"] == ["x"]
    assert stack.shown == ["node1: stage 3 of 7, building kernel modules (2:10)", "node1: stage 3 of 7, building kernel modules (2:30)"]
    assert stack.asked == [{"bundle": "/b"}, {"bundle": "/b", "attach": "j"}, {"bundle": "/b", "attach": "j"}]


@pytest.mark.parametrize("arguments", [{"foresee": True}, {"role": "ofed"}])
def test_a_hook_whose_file_is_missing_is_refused_before_the_first_change(arguments: dict[str, t.Any], tmp_path: pathlib.Path) -> None:
    hook = tmp_path / "rebuild.yml"

    def problems(path: str) -> str:
        task_vars = {"inventory_hostname": "node1", "ansible_facts": {}, "groups": {}, "hostvars": {}, "ofed_rebuild_tasks": path}
        return str(action(validate_site, arguments).run(task_vars=task_vars).get("msg", ""))

    assert "ofed_rebuild_tasks is '%s'" % hook in problems(str(hook)) and "there is no such file" in problems(str(hook))
    assert "ofed_rebuild_tasks is 'hooks/rebuild.yml'; allowed: the absolute path" in problems("hooks/rebuild.yml")
    hook.write_text("[]\n", encoding="utf-8")
    assert "ofed_rebuild_tasks" not in problems(str(hook))
    assert "ofed_rebuild_tasks" not in problems("")


def test_playbooks_that_do_not_run_a_hook_do_without_its_file(tmp_path: pathlib.Path) -> None:
    """They may run on another controller."""
    task_vars = {"inventory_hostname": "node1", "ansible_facts": {}, "groups": {}, "hostvars": {}, "ofed_rebuild_tasks": str(tmp_path / "rebuild.yml")}
    assert "ofed_rebuild_tasks" not in str(action(validate_site, {}).run(task_vars=task_vars).get("msg", ""))


def test_kernel_policy_shows_its_job_too(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    bundle, _digest = archived(tmp_path)
    answers = [NEEDED, {"bundle_needed": "transfer"}, {"job": {**JOB, "detail": "half of it"}}, {"changed": True}]
    stack = Stack(monkeypatch, {"bundle": str(bundle)}, answers, kernel_policy)
    assert stack.run()["changed"] is True
    assert stack.shown == ["node1: transferring the bundle, 0 MB", "node1: stage 3 of 7, building kernel modules, half of it (2:10)"]


def test_driver_stack_is_one_execution_where_nothing_is_to_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Stack(monkeypatch, {"bundle": "/b", "attach": "theirs"}, [{"changed": False}])
    assert stack.run()["changed"] is False
    assert stack.asked == [{"bundle": "/b"}]


def test_driver_stack_outlives_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Stack(monkeypatch, {}, [{"job": JOB}, AnsibleConnectionFailure("gone"), {"unreachable": True}, {"changed": True}])
    assert stack.run()["changed"] is True
    assert stack.plugin._connection.reset.call_count == 2
    monkeypatch.setattr(driver_stack, "_PATIENCE_SECONDS", -1)
    stack = Stack(monkeypatch, {}, [{"job": JOB}, AnsibleConnectionFailure("gone")])
    result = stack.run()
    assert result["failed"] is True
    assert "The job continues there" in result["msg"]


def test_driver_stack_brings_a_bundle_only_if_the_node_lacks_it(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    bundle, digest = archived(tmp_path)
    arguments = {"bundle": str(bundle), "bundle_on": "controller", "bundle_checksum": digest.upper().replace("SHA", "sha")}
    stack = Stack(monkeypatch, arguments, [NEEDED, {"changed": True}])
    assert stack.run()["changed"] is True
    assert (stack.transferred, stack.asked[1]["digest"]) == ([], digest)
    stack = Stack(monkeypatch, arguments, [NEEDED, {"bundle_needed": "transfer"}, {"changed": True}])
    stack.run()
    assert stack.transferred == [(str(bundle), "/remote/bundle")]
    assert stack.asked[2]["staged"] == "/remote/bundle"
    stack = Stack(monkeypatch, {**arguments, "bundle_checksum": "sha256:" + "0" * 64}, [{"bundle_needed": "transfer"}])
    assert "correct ofed_bundle_checksum" in stack.run()["msg"]
    stack = Stack(monkeypatch, {"bundle": "/nowhere.tgz"}, [NEEDED])
    assert "there is no file /nowhere.tgz on the controller" in stack.run()["msg"]


def test_driver_stack_looks_into_a_bundle_before_it_brings_it(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    bundle, _digest = archived(tmp_path)
    for check in (True, False):
        stack = Stack(monkeypatch, {"bundle": str(bundle)}, [{**NEEDED, "bundle_release": "24.10-0.7.0.0"}])
        stack.plugin._task.check_mode = check
        found = stack.run()
        assert (found["failed"], len(stack.asked)) == (True, 1)
        assert "%s on the controller has the release 23.10-0.5.5.0, and 24.10-0.7.0.0 is wanted" % bundle in found["msg"]
    stack = Stack(monkeypatch, {"bundle": str(bundle)}, [{**NEEDED, "changes": ["x"]}])
    stack.plugin._task.check_mode = True
    found = stack.run()
    assert (found["changes"], stack.transferred, len(stack.asked)) == (["x"], [], 1)
    assert "bundle_release" not in found


def test_driver_stack_brings_a_folder_as_an_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    make_bundle(tmp_path / "folder", "23.10-0.5.5.0")
    stack = Stack(monkeypatch, {"bundle": str(tmp_path / "folder")}, [NEEDED, {"bundle_needed": "transfer"}, {"changed": True}])
    stack.run()
    assert stack.archived == ["bundle", "bundle/.arch", "bundle/.mlnx", "bundle/distro", "bundle/mlnxofedinstall"]
