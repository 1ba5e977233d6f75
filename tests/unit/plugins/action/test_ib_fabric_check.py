# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller judges a fabric and stores its baseline."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.action import ib_fabric_check
from ansible_collections.rdma.ofed.plugins.module_utils._accepted import entries_of
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health._report import accept
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._words import row
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code, End, Finding, Topic
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked
from support import small_fabric


def action(plugin: t.Any, arguments: dict[str, t.Any]) -> t.Any:
    task = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args=arguments)
    connection = mock.Mock()
    connection._shell.tmpdir = None
    return plugin.ActionModule(task, connection, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())


class Judged(t.NamedTuple):
    """An action whose host shows a fabric."""

    plugin: t.Any

    @classmethod
    def of(cls, data: dict[str, t.Any], **arguments: t.Any) -> Judged:
        plugin = action(ib_fabric_check, arguments)
        plugin._execute_module = mock.Mock(return_value=data)
        return cls(plugin)

    def run(self, check: bool = False, **task_vars: t.Any) -> dict[str, t.Any]:
        self.plugin._task.check_mode = check
        result: dict[str, t.Any] = self.plugin.run(task_vars=task_vars)
        return result


def test_what_a_site_accepts_is_no_error_until_it_expires(tmp_path: pathlib.Path) -> None:
    path, reports = tmp_path / "ib.json", tmp_path / "reports"
    Judged.of(small_fabric.data(), baseline=str(path), save=True).run()
    lost = {"baseline": str(path), "report_dir": str(reports)}
    accepted = [{"code": "node_lost", "host": "spi*", "until": "2026-12-31", "reason": "sent in for repair"}]
    result = Judged.of(small_fabric.without("spine"), **lost, accepted=accepted, today="2026-12-31").run()
    assert not result.get("failed") and result["verdict"] == ""
    assert result["table"][-3:] == [
        "  node_lost spine: found not in the fabric; accepted until 2026-12-31: sent in for repair",
        "",
        "Findings: 0 errors, 0 warnings, 0 notices; 1 accepted.",
    ]
    assert "<failure" not in (reports / "ib-findings.xml").read_text()
    late = Judged.of(small_fabric.without("spine"), **lost, accepted=accepted, today="2027-01-01").run()
    assert late["failed"] and "  spine was accepted until 2026-12-31: sent in for repair" in late["table"]
    other = Judged.of(small_fabric.without("spine"), **lost, accepted=[{**accepted[0], "host": "leaf1"}], today="2026-12-31").run()
    assert other["failed"]
    wrong = Judged.of(small_fabric.data(), accepted=[{"code": "node_lost"}]).run()
    assert "accepted[0].reason is not set" in wrong["msg"]


def test_one_link_of_a_fabric_is_accepted_by_its_ends() -> None:
    slow = Finding(Code.LINK_DEGRADED, Topic.LINK, wanted="4X EDR", found="1X EDR", ends=(End("0x1", "leaf1", 12), End("0x2", "node7 mlx5_0", 1)))
    rows, data = [row(slow)], {"ports": [{"node_guid": "0x2", "port": 1, "port_guid": "0x0002"}]}
    for place in ({"link": ["leaf1/12"]}, {"link": ["node7/1", "leaf1/12"]}, {"host": "node7", "port": "mlx5_0/1"}, {"port": "0x0002"}):
        entries = entries_of([{"code": "link_degraded", "reason": "x", **place}])
        assert accept(rows, data, entries, today="2026-01-01")[0]["accepted"] == {"until": "", "reason": "x", "expired": False}
    for place in ({"link": ["leaf1/13"]}, {"host": "node7", "port": "mlx5_1/1"}, {"host": "node8"}):
        assert "accepted" not in accept(rows, data, entries_of([{"code": "link_degraded", "reason": "x", **place}]), today="2026-01-01")[0]


def test_a_baseline_is_saved_and_compared_with(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "folder/ib.json"
    saving = Judged.of(small_fabric.data(), baseline=str(path), save=True)
    missing = Judged.of(small_fabric.data(), baseline=str(path)).run()
    assert missing["table"][1].startswith("Not compared: there is no baseline %s; " % path)
    tables = []
    for check, changed in ((True, True), (False, True), (False, False)):
        result = saving.run(check)
        assert result["changed"] == changed
        tables.append(result["table"][1])
        assert path.exists() != check
    assert tables == ["Baseline: %s %s" % (done, path) for done in ("would be saved in", "saved in", "unchanged in")]
    assert os.listdir(path.parent) == ["ib.json"] and path.stat().st_mode & 0o777 == 0o644
    same = Judged.of(small_fabric.data(), baseline=str(path)).run()
    assert (same.get("failed"), same["findings"], same["compared"], same["changed"]) == (None, [], True, False)
    assert same["table"][1] == "Compared with the baseline %s" % path
    reports = tmp_path / "reports"
    lost = Judged.of(small_fabric.without("spine"), baseline=str(path), report_dir=str(reports), show=True, name="ib1")
    result = lost.run()
    assert result["failed"] and result["msg"].startswith("fabric ib1: spine: found not in the fabric, expected at leaf1 port 7")
    assert json.loads((reports / "ib1-findings.json").read_text())["findings"] == result["findings"]
    assert "Report: %s" % (reports / "ib1-findings.html") in (printed := capsys.readouterr().out) and "node_lost" in printed
    assert 'failures="1"' in (reports / "ib1-findings.xml").read_text()
    lost.plugin._task.args["fail"] = False
    assert "failed" not in lost.run()
    # The query to the host.
    assert lost.plugin._execute_module.call_args.kwargs["module_args"]["gather"] == ["subnet_managers", "partitions", "switch_firmware"]
    # Differences in the new state are shown but are no finding.
    accepting = Judged.of(small_fabric.without("spine"), baseline=str(path), save=True)
    for check in (True, False):
        result = accepting.run(check)
        assert result["changed"] and result["findings"] == []
        assert [row["code"] for row in result["differences"]] == ["node_lost"]
        assert result["table"][2] == "Accepted with this baseline (1):"
        assert result["table"][3].startswith("  node_lost spine: found not in the fabric, former baseline: at leaf1 port 7, leaf2 port 7")
    assert Judged.of(small_fabric.without("spine"), baseline=str(path)).run()["findings"] == []


def test_a_baseline_that_is_gone_is_an_error_and_no_silence(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "ib.json"
    options = {"baseline": str(path), "report_dir": str(tmp_path / "reports")}
    # There was none before.
    assert not Judged.of(small_fabric.data(), **options).run().get("failed")
    Judged.of(small_fabric.data(), **options, save=True).run()
    path.unlink()
    result = Judged.of(small_fabric.data(), **options).run()
    assert result["failed"] and "is gone" in result["msg"] and "fabric_baseline" in result["msg"]
    Judged.of(small_fabric.data(), **options, save=True).run()
    assert Judged.of(small_fabric.data(), **options).run()["compared"]


def test_hosts_are_known_by_the_guids_of_a_look_and_then_of_the_baseline(tmp_path: pathlib.Path) -> None:
    hosts = ["mgmt1", "mgmt2", "mgmt3"]
    options = {"baseline": str(tmp_path / "ib.json"), "hosts": hosts}
    hostvars = {
        host: {"ansible_facts": {"rdma": marked({"hcas": [{"node_guid": small_fabric.guid("node%d" % number), "psid": "", "firmware": ""}]})}}
        for number, host in enumerate(hosts, 1)
    }
    assert [row["code"] for row in Judged.of(small_fabric.data(), **options).run()["findings"]] == ["hosts_unmatched"]
    assert Judged.of(small_fabric.data(), **options).run(hostvars=hostvars)["findings"] == []
    Judged.of(small_fabric.data(), **options, save=True).run(hostvars=hostvars)
    assert Judged.of(small_fabric.data(), **options).run()["findings"] == []
    # A later save without an inspection keeps the known data.
    Judged.of(small_fabric.data(), **options, save=True).run()
    found = Judged.of(small_fabric.without("node2"), **options).run()["findings"]
    assert [row["object"] for row in found if row["code"] == "host_absent"] == [] and [row["code"] for row in found] == ["node_lost"]


def test_links_of_no_node_are_input_that_is_wrong() -> None:
    result = Judged.of(small_fabric.data(), links=[{"node": "leef1", "port": 0, "width": "1X", "speed": ""}]).run()
    assert result["failed"] and "links[0].node is 'leef1'; allowed: a node of the fabric (did you mean leaf1" in result["msg"]


def test_the_report_is_written_beside_the_findings_and_keeps_the_last_runs(tmp_path: pathlib.Path) -> None:
    reports = tmp_path / "reports"
    options = {"report_dir": str(reports), "name": "ib1"}
    # Check mode writes nothing.
    Judged.of(small_fabric.data(), **options).run(check=True)
    assert not reports.exists()
    Judged.of(small_fabric.data(), **options, hosts=["node9"]).run()
    Judged.of(small_fabric.data(), **options).run()
    assert sorted(os.listdir(reports)) == ["ib1-findings.html", "ib1-findings.json", "ib1-findings.xml"]
    report = json.loads((reports / "ib1-findings.json").read_text())
    assert [run["error"] for run in report["history"]] == [1, 0] and report["history"][1]["time"] == report["time"]
    page = (reports / "ib1-findings.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and '"fabric":"ib1"' in page and "leaf1" in page
    # A file that is not a report is replaced.
    (reports / "ib1-findings.json").write_bytes(b"\xff{")
    Judged.of(small_fabric.data(), **options).run()
    assert len(json.loads((reports / "ib1-findings.json").read_text())["history"]) == 1


def test_adapters_are_known_by_the_facts_of_their_hosts(tmp_path: pathlib.Path) -> None:
    data, path = small_fabric.data(), tmp_path / "ib.json"
    versions = {"node1": "20.39.1002", "node2": "20.39.1002", "node3": "20.31.1014"}
    hostvars: dict[str, t.Any] = {
        host: {"ansible_facts": {"rdma": marked({"hcas": [{"node_guid": small_fabric.guid(host), "psid": "MT_0000000223", "firmware": version}]})}}
        for host, version in versions.items()
    }
    hostvars["node2"]["ansible_facts"]["rdma"]["run"] = "yesterday"
    judged = Judged.of(data, adapters_of=["node1", "node2", "node3", "node9"], baseline=str(path), fail=False)
    judged.plugin._task.args["save"] = True
    findings = judged.run(hostvars=hostvars)["findings"]
    assert [(each["code"], each["object"], each["found"]) for each in findings] == [("firmware_differs", "node3", "20.31.1014")]
    saved = {row["name"]: (row["psid"], row["firmware"]) for row in json.loads(path.read_text(encoding="utf-8"))["nodes"]}
    assert saved["node1"] == ("MT_0000000223", "20.39.1002") and saved["node2"] == saved["leaf1"] == ("", "")


def test_without_a_baseline_the_fabric_is_judged_as_it_is(tmp_path: pathlib.Path) -> None:
    for path in ("", str(tmp_path / "absent.json")):
        result = Judged.of(small_fabric.data(), baseline=path).run()
        assert (result["findings"], result["compared"], result.get("failed")) == ([], False, None)


def test_what_is_no_baseline_is_an_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "ib.json"
    path.write_bytes(b"\xff{")
    assert "is not a baseline" in Judged.of(small_fabric.data(), baseline=str(path)).run()["msg"]
    assert "can't be read" in Judged.of(small_fabric.data(), baseline=str(tmp_path)).run()["msg"]
    assert "can't be written" in Judged.of(small_fabric.data(), baseline=str(path / "x.json"), save=True).run()["msg"]
    assert "save needs baseline" in Judged.of(small_fabric.data(), save=True).run()["msg"]
    assert Judged.of(small_fabric.data(), baseline=str(path), save=True).run()["changed"]


def test_a_topology_with_gaps_is_neither_judged_nor_saved(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "ib.json"
    gap = {"code": "failed", "tool": "ibnetdiscover", "total": 1, "examples": [], "message": "ibnetdiscover failed"}
    for save in (False, True):
        result = Judged.of(small_fabric.data(problems=[gap]), baseline=str(path), save=save).run()
        assert result["failed"] and "ibnetdiscover failed" in result["msg"] and not path.exists()


def test_what_fails_on_the_host_and_wrong_options_are_reported() -> None:
    assert Judged.of({"failed": True, "msg": "no such port"}).run()["msg"] == "no such port"
    wrong = Judged.of(small_fabric.data(), links=[{"width": "3X"}])
    assert "links[0].width" in wrong.run()["msg"] and not wrong.plugin._execute_module.called


def test_who_manages_a_fabric_comes_from_the_inventory_where_it_is_managed() -> None:
    inventory: dict[str, t.Any] = {"groups": {"opensm": ["node3", "node1"]}, "hostvars": {"node3": {}, "node1": {"opensm_standby": True}}}
    options = {"subnet_managers": ["node9"], "fail": False}
    found = Judged.of(small_fabric.data(), **options, managed=True).run(**inventory)["findings"]
    assert found == Judged.of(small_fabric.data(), **options, line=["node3", "node1"]).run()["findings"]
    assert found != Judged.of(small_fabric.data(), **options).run(**inventory)["findings"]
    # Options of the task take precedence.
    given = Judged.of(small_fabric.data(), **options, line=["node1"], managed=True).run(**inventory)["findings"]
    assert given == Judged.of(small_fabric.data(), **options, line=["node1"]).run()["findings"]
