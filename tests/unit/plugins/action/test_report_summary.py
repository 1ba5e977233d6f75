# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tasks of a run record for its summary, and what the summary reads."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible import constants, context
from ansible.errors import AnsibleConnectionFailure
from ansible.utils.context_objects import CLIArgs
from ansible_collections.rdma.ofed.plugins.action import interpreter, ipoib, rdma_facts, report
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._site._ends import FAILED, UNREACHABLE, Record
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks

REFUSED = "ssh: connect to host 10.0.0.1 port 22: Connection refused"


@pytest.fixture(autouse=True)
def _run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(context, "CLIARGS", CLIArgs({"check": False}))


def run(plugin: t.Any, answer: t.Any = None, check: bool = False, **task_vars: t.Any) -> dict[str, t.Any]:
    arguments = task_vars.pop("arguments", {})
    templar = mock.Mock()
    templar.template = lambda value: value
    task: t.Any = mock.Mock(async_val=0, check_mode=check, diff=False, delegate_to=None, args=arguments, timeout=180, _uuid="1")
    task.get_name.return_value = "Configure"
    connection = mock.Mock(transport="ssh")
    found = plugin.ActionModule(task, connection, mock.Mock(become=False), mock.Mock(), templar, mock.Mock())
    found._execute_module = mock.Mock(side_effect=[answer])
    found._low_level_execute_command = mock.Mock(side_effect=[answer])
    known = {"inventory_hostname": "node1", "ansible_host": "10.0.0.1", "ansible_facts": {}, "groups": {}, **task_vars}
    return t.cast("dict[str, t.Any]", found.run(task_vars=known))


@pytest.mark.parametrize(
    ("answer", "record"),
    [
        ({"changed": True}, Record(changed=True)),
        ({"changed": False}, Record()),
        ({"failed": True, "msg": "node1: it broke"}, Record(False, FAILED, "Configure", "it broke")),
        ({"unreachable": True, "msg": REFUSED}, Record(False, UNREACHABLE, "Configure", REFUSED.replace(" 10.0.0.1", ""))),
    ],
)
def test_how_a_task_ended_is_kept_for_its_host(answer: dict[str, t.Any], record: Record) -> None:
    run(ipoib, answer)
    assert _looks.recall_record("node1") == record
    assert _looks.recall_record("node2") == Record()


def test_a_connection_that_fails_is_kept_and_raised() -> None:
    with pytest.raises(AnsibleConnectionFailure):
        run(ipoib, AnsibleConnectionFailure(REFUSED))
    assert _looks.recall_record("node1").kind == UNREACHABLE


def test_what_is_only_foreseen_is_no_change() -> None:
    run(ipoib, {"changed": True}, check=True)
    assert not _looks.recall_record("node1").changed
    context.CLIARGS = CLIArgs({"check": True})
    run(ipoib, {"changed": True}, check=True)
    assert _looks.recall_record("node1").changed


def test_what_was_changed_adds_up_without_its_values() -> None:
    conf, partitions = (Change(Kind.FILE, path, "", "", "sm_key 0x1") for path in ("/etc/opensm.conf", "/etc/partitions.conf"))
    run(ipoib, Plan((conf, partitions)).result())
    run(ipoib, Plan((conf,)).result())
    run(ipoib, {"failed": True, "msg": "no"})
    kept = _looks.recall_record("node1")
    assert kept.changes == ("create file /etc/opensm.conf", "create file /etc/partitions.conf")
    assert kept.kind == FAILED and kept.changed


def test_what_was_changed_before_a_failure_counts() -> None:
    run(ipoib, {**Plan((Change(Kind.INTERFACE, "ib0", "mtu", "2044", "4092"),)).result(), "failed": True, "msg": "no"})
    assert _looks.recall_record("node1") == Record(True, FAILED, "Configure", "no", ("ib0 mtu: 2044 -> 4092",))
    run(ipoib, {"changed": True, "changes": ["of a prediction"], "failed": True, "msg": "no"}, check=True)
    assert _looks.recall_record("node1").changes == ("ib0 mtu: 2044 -> 4092",)


def test_that_a_host_was_changed_stays() -> None:
    run(ipoib, {"changed": True})
    run(ipoib, {"failed": True, "msg": "no"})
    assert _looks.recall_record("node1") == Record(True, FAILED, "Configure", "no")


def test_a_look_without_an_answer_leaves_the_host_out_and_does_not_fail() -> None:
    for answer, words in ((AnsibleConnectionFailure(REFUSED), "unreachable: ssh"), ({"failed": True, "msg": "node1: not root"}, "not root")):
        result = run(rdma_facts, answer, arguments={"keep_failure": True})
        assert "failed" not in result and "unreachable" not in result
        assert _looks.recall_silent("node1").startswith(words)
    run(rdma_facts, {"ansible_facts": {"rdma": {}}}, arguments={"keep_failure": True})
    assert _looks.recall_silent("node1") == ""


def test_a_look_that_is_ended_by_its_time_limit_has_left_the_reason() -> None:
    """ansible-core interrupts it at any point with an exception of this kind."""
    with pytest.raises(KeyboardInterrupt):
        run(rdma_facts, KeyboardInterrupt(), arguments={"keep_failure": True})
    assert _looks.recall_silent("node1").startswith("the host did not answer within 180 s")


def test_a_host_that_no_command_reaches_is_left_out() -> None:
    result = run(interpreter, AnsibleConnectionFailure(REFUSED), arguments={"keep_failure": True})
    (why,) = result["left_out"]["all"]
    assert why.startswith("unreachable: %s. Next: check whether it is on" % REFUSED.replace(" 10.0.0.1", "")) and "failed" not in result
    result = run(interpreter, {"rc": 1, "stdout": "", "stderr": "no sudo"}, arguments={"keep_failure": True})
    assert "no command can be run there" in result["left_out"]["all"][0]
    result = run(interpreter, {"rc": 1, "stdout": "", "stderr": "Error: container a-node2 is not running"}, arguments={"keep_failure": True})
    assert result["left_out"]["all"] == ["no command can be run there: Error: container a-node2 is not running. Next: start it"]


def test_the_summary_has_every_host_of_the_play(capsys: pytest.CaptureFixture[str]) -> None:
    _looks.keep_record("node2", kind=FAILED, task="Install", said="no")
    _looks.keep_record("node1", changed=True)
    hosts = ["node1", "node2", "node3", "node4"]
    hostvars: dict[str, t.Any] = {host: {} for host in hosts}
    hostvars["node3"] = {"rdma_site": {"left_out": {"ipoib": ["a profile"]}}}
    hostvars["node4"] = {"looked": {"left_out": {"all": ["no Python"]}}}
    arguments = {"variables": ["rdma_site", "looked"]}
    result = run(report, arguments={"kind": "summary", **arguments}, hostvars=hostvars, ansible_play_hosts=["node1", "node3"], ansible_play_hosts_all=hosts)
    assert result["done"] == ["node1"]
    assert result["reasons"] == {"node2": ["failed: Install: no"], "node3": ["left out of ipoib: a profile"], "node4": ["no Python"]}
    assert capsys.readouterr().out.strip().startswith("Summary: 1 of 4 hosts done, 1 changed, 2 failed or unreachable, 1 partly left out")


def test_a_batch_that_ends_the_run_tells_which_hosts_it_did_not_come_to(capsys: pytest.CaptureFixture[str]) -> None:
    known: dict[str, dict[str, t.Any]] = {"node%d" % number: {} for number in range(1, 6)}
    known["node2"]["failure"] = "Load: it hangs"
    arguments = {"hosts": list(known), "alive": ["node1", "node2", "node3", "node4"], "untouched": ["node3", "node4"], "failures": ["other", "failure"]}
    found = run(report, arguments={"kind": "summary", **arguments}, ansible_play_hosts=["node2"], ansible_play_hosts_all=["node2", "node3"], hostvars=known)
    assert found["done"] == ["node1"]
    assert found["reasons"] == {
        "node2": ["failed: Load: it hangs"],
        "node3": ["not touched: the run ended before its batch"],
        "node4": ["not touched: the run ended before its batch"],
        "node5": ["failed; see its error above"],
    }
    assert "Summary: 1 of 5 hosts done, 2 failed or unreachable, 2 not touched" in capsys.readouterr().out


def test_of_hosts_that_come_one_by_one_the_last_one_is_told() -> None:
    hosts = ["node1", "node2", "node3"]
    assert [_looks.all_arrived("task", host, hosts) for host in hosts] == [False, False, True]
    # A host that learns it at the same time, and a task that has the hosts of another batch.
    assert not _looks.all_arrived("task", "node2", hosts)
    assert _looks.all_arrived("other task", "node3", ["node3"])


def test_a_host_that_fails_tells_the_others_why(capsys: pytest.CaptureFixture[str]) -> None:
    """Each has the variables of the others as they were when its own task began."""
    known: dict[str, dict[str, t.Any]] = {"node1": {}, "node2": {}}
    arguments = {"kind": "summary", "once_all_arrived": True, "failures": ["__failure"]}
    ends = [
        run(
            report,
            arguments=arguments,
            hostvars=known,
            ansible_play_hosts=list(known),
            ansible_play_hosts_all=list(known),
            inventory_hostname=host,
            __failure="full",
        )
        for host in known
    ]
    assert [end.get("skipped", False) for end in ends] == [True, False]
    assert ends[1]["done"] == []
    assert "node[1-2]: failed: full" in capsys.readouterr().out


def test_findings_that_no_table_has_named_come_from_the_variables_of_living_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    known: dict[str, dict[str, t.Any]] = {"node%d" % number: {"found": ["link down"]} for number in range(1, 4)}
    known["node4"] = {}
    arguments = {"kind": "summary", "findings": ["other", "found"], "deviations": {"node1": ["no master"]}}
    playing = {"ansible_play_hosts": ["node1", "node2", "node4"], "ansible_play_hosts_all": list(known)}
    found = run(report, arguments=arguments, hostvars=known, **playing)
    assert found["done"] == ["node4"]
    assert {host: "link down" in str(reasons) for host, reasons in found["reasons"].items()} == {"node1": False, "node2": True, "node3": False}
    assert "no master" in str(found["reasons"]["node1"])
    capsys.readouterr()


def test_a_report_that_can_not_be_written_fails_no_host(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    hosts = {"ansible_play_hosts": ["node1"], "ansible_play_hosts_all": ["node1"], "hostvars": {"node1": {}}}
    result = run(report, arguments={"kind": "summary", "report_dir": str(tmp_path / "file/below")}, **hosts)
    assert not result.get("failed") and result["done"] == ["node1"] and _looks.recall_done() == {"node1"}
    assert "was not written (rdma_report_dir)" in result["warnings"][0] and "file/below" in result["warnings"][0]
