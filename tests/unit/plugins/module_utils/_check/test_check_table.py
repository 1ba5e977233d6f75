# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of a whole run, and what only all hosts together show: split fabrics, and versions that equal hosts do not share."""

from __future__ import annotations

import pathlib
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._check._table import deviations_of, differences_of, foreseen, render, render_foreseen
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code, Finding, Topic
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind

ROW = {
    "port": "mlx5_0/1",
    "state": "ACTIVE",
    "lid": "1",
    "sm_lid": "1",
    "rate": "100 Gb/sec",
    "interface": "ib0",
    "mode": "datagram",
    "mtu": "2044",
    "addresses": "10.20.0.1/24",
    "sm": "master",
    "result": "OK",
}


def result(guid: str = "0x1", lines: t.Sequence[str] = (), **row: str) -> dict[str, t.Any]:
    return {
        "ok": not lines,
        "deviations": [{} for _line in lines],
        "deviation_lines": list(lines),
        "rows": [{**ROW, **row}],
        "fabric": "ib",
        "master_guid": guid,
    }


def test_a_good_run() -> None:
    results = {"node1": result(), "node2": result(sm="node1", lid="2", addresses="10.20.0.2/24")}
    assert render(results, deviations_of(results)).splitlines() == [
        "host   port      state   LID  SM LID  rate        interface  mode      MTU   addresses     SM      result",
        "-----  --------  ------  ---  ------  ----------  ---------  --------  ----  ------------  ------  ------",
        "node1  mlx5_0/1  ACTIVE  1    1       100 Gb/sec  ib0        datagram  2044  10.20.0.1/24  master  OK",
        "node2  mlx5_0/1  ACTIVE  2    1       100 Gb/sec  ib0        datagram  2044  10.20.0.2/24  node1   OK",
        "",
        "All 2 hosts are as declared.",
    ]


def test_deviations_follow_the_table() -> None:
    results = {"node1": result(), "node2": result(lines=["interface ib0 mtu: wanted 4092, found 2044"], result="BAD")}
    deviations = deviations_of(results)
    assert deviations == {"node2": ["interface ib0 mtu: wanted 4092, found 2044"]}
    assert render(results, deviations).splitlines()[-4:] == [
        "Deviations:",
        "  node2: interface ib0 mtu: wanted 4092, found 2044",
        "",
        "1 of 2 hosts deviate from the declared state.",
    ]


def test_equal_deviations_are_one_line_and_a_cause_comes_first() -> None:
    silent = "subnet manager of fabric ib: wanted one master on node9, found none"
    stopped = "opensm: wanted running, found stopped"
    results = {name: result("", [silent]) for name in ("node1", "node2", "node3")}
    results["node9"] = {**result("", [stopped, silent]), "deviations": [{"code": "opensm_stopped", "kind": "opensm"}, {"code": "no_master", "kind": "x"}]}
    for name in ("node1", "node2", "node3"):
        results[name]["deviations"] = [{"code": "no_master", "kind": "subnet_manager"}]
    lines = render(results, deviations_of(results)).splitlines()
    assert lines[lines.index("Deviations:") + 1 : -2] == ["  node9: " + stopped, "  node[1-3,9]: " + silent]


def test_a_run_is_foreseen_to_fail_for_what_no_role_mends() -> None:
    down = Finding(Code.LINK_DOWN, Topic.PORT, "mlx5_0/1", "", "ACTIVE and LinkUp", "DOWN and Polling")
    mended = Finding(Code.DIFFERS, Kind.INTERFACE, "ib0", "mtu", "4092", "2044")
    results = {
        host: {**result(), "deviations": [_words.result(finding) for finding in found]} for host, found in (("node1", [down, mended]), ("node2", [down]))
    }
    results.update(node3={**result(), "deviations": [_words.result(mended)]}, node4={"unreachable": True})
    deviations = foreseen(results)
    assert list(deviations) == ["node1", "node2"]
    title, line = render_foreseen(results, deviations).splitlines()
    assert title == "No role mends this. The run would fail unless it is mended before:"
    assert line.startswith("  node[1-2]: port mlx5_0/1: wanted ACTIVE and LinkUp, found DOWN and Polling (look at the cable")
    assert render_foreseen(results, foreseen({"node3": results["node3"]})) == ""


def test_a_host_without_a_result_deviates_and_has_a_row() -> None:
    results: dict[str, t.Any] = {"node1": result(), "node2": {"unreachable": True, "msg": "no route to host\n"}, "node3": {}, "node4": {"msg": "invalid"}}
    deviations = deviations_of(results)
    assert deviations == {"node2": ["unreachable: no route to host"], "node3": ["not checked: no result"], "node4": ["not checked: invalid"]}
    assert [line.split() for line in render(results, deviations).splitlines()[3:6]] == [[host, *["-"] * 10, "BAD"] for host in ("node2", "node3", "node4")]


def test_an_error_of_many_lines_is_cut_to_one() -> None:
    message = "\nTask failed: container node3 is not running \nOrigin: /x/roles/fabric_check/tasks/main.yml:2:3\n\n1 ---\n"
    assert deviations_of({"node3": {"unreachable": True, "msg": message}}) == {"node3": ["unreachable: Task failed: container node3 is not running"]}


def test_two_masters_that_do_not_see_each_other() -> None:
    results = {"node1": result("0x1"), "node2": result("0x1"), "node3": result("0x3")}
    deviations = deviations_of(results)
    assert list(deviations) == ["node3"]
    assert "the fabric is split ('iblinkinfo' on both sides" in deviations["node3"][0]
    assert render(results, deviations).splitlines()[4].endswith("BAD")


def test_each_fabric_has_a_master_of_its_own() -> None:
    other = {**result("0x9"), "fabric": "storage"}
    assert deviations_of({"node1": result("0x1"), "node2": other}) == {}


def test_no_host() -> None:
    assert render({}, {}).splitlines()[-1] == "No host was checked."


def test_the_readme_shows_the_table_as_it_is_printed() -> None:
    """The port of one node has lost its link, which explains what its interface lacks."""
    found = Finding(Code.LINK_DOWN, Topic.PORT, "mlx5_0/1", "", "ACTIVE and LinkUp", "DOWN and Polling")
    results = {
        "node1": result(),
        "node2": {
            **result("", _words.lines([found]), state="DOWN", lid="-", sm_lid="-", addresses="10.20.0.2/24", sm="-", result="BAD"),
            "deviations": [_words.result(found)],
        },
        "node3": result(sm="node1", lid="3", addresses="10.20.0.3/24"),
    }
    printed = render(results, deviations_of(results))
    readme = pathlib.Path(__file__).resolve().parents[5] / "README.md"
    assert "\n```text\n%s\n```\n" % printed in readme.read_text(encoding="utf-8")


def versions_of(*cards: tuple[str, str], kind: str = "", version: str = "") -> dict[str, t.Any]:
    stack = {"kind": kind, "version": version} if kind else {}
    return {"deviations": [], "adapters": [{"pci": "0000:03:00.0", "psid": psid, "firmware": firmware} for psid, firmware in cards], "stack": stack}


def test_equal_hosts_differ_in_nothing() -> None:
    assert differences_of({"node%d" % number: versions_of(("MT_8", "16.35.2000"), kind="doca", version="24.10") for number in range(3)}) == []
    # Other cards have other firmware, a distribution has what it has, and nothing is known of the last one.
    mixed = {
        "node1": versions_of(("MT_8", "16.35.2000"), ("MT_9", "20.31.1014"), kind="inbox", version="44.0"),
        "node2": versions_of(("MT_9", "20.31.1014"), kind="inbox", version="52.0"),
        "node3": versions_of(("", "1.2.3"), ("MT_8", ""), kind="mlnx_ofed", version="5.8"),
        "node4": {"msg": "unreachable"},
    }
    assert differences_of(mixed) == []


def test_each_version_is_shown_with_its_hosts() -> None:
    results = {"node%d" % number: versions_of(("MT_8", "16.35.2000"), kind="mlnx_ofed", version="5.8-1.0.1.1") for number in range(1, 4)}
    results["node4"] = versions_of(("MT_8", "16.31.1014"), ("MT_8", "16.35.2000"), kind="mlnx_ofed", version="5.4-3.1.0.0")
    firmware, stack = differences_of(results)
    assert (firmware["what"], firmware["of"], list(firmware["hosts"])) == ("firmware", "MT_8", ["16.35.2000", "16.31.1014"])
    assert firmware["hosts"]["16.31.1014"] == ["node4"]
    assert stack == {"what": "stack", "of": "mlnx_ofed", "hosts": {"5.8-1.0.1.1": ["node1", "node2", "node3"], "5.4-3.1.0.0": ["node4"]}}
    text = render(results, {}, [firmware, stack])
    assert "Different versions:\n  firmware of adapters with PSID MT_8: 16.35.2000 on node[1-4], 16.31.1014 on node4\n" in text
    assert text.endswith("All 4 hosts are as declared.")
