# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of a whole run, and findings that only all hosts together show: split fabrics, and different versions on equal hosts."""

from __future__ import annotations

import pathlib
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._accepted import Accepted
from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._check._fleet import Results, survey
from ansible_collections.rdma.ofed.plugins.module_utils._check._report import as_data, cases_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._table import differences_of, foreseen, render, render_foreseen
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


DOWN = Finding(Code.LINK_DOWN, Topic.PORT, "mlx5_0/1", "", "ACTIVE and LinkUp", "DOWN and Polling")
LOST = Finding(Code.NO_PORT, Topic.PORT, "mlx5_1/1", wanted="ACTIVE", detail="mlx5_0/1")
ETHERNET = Finding(Code.DIFFERS, Topic.PORT, "mlx5_0/1", "link_layer", "InfiniBand", "Ethernet")
UNLOADED = Finding(Code.DIFFERS, Kind.MODULE, "mlx5_ib", "state", "loaded", "not loaded")
MTU = Finding(Code.DIFFERS, Kind.INTERFACE, "ib0", "mtu", "4092", "2044")
SILENT = Finding(Code.NO_MASTER, Topic.SUBNET_MANAGER, "ib", "", "node9", detail="none answers")
STOPPED = Finding(Code.OPENSM_STOPPED, Topic.OPENSM, "", "state", "running", "stopped", "ib")


def result(guid: str = "0x1", found: t.Sequence[Finding] = (), **row: str) -> dict[str, t.Any]:
    return {
        "ok": not found,
        "deviations": [_words.result(finding) for finding in found],
        "deviation_lines": _words.lines(found),
        "rows": [{**ROW, "fabric": "ib", **row}],
        "fabrics": [{"fabric": "ib", "master_guid": guid, "designated_host": "node9"}],
    }


def accepted(found: dict[str, t.Any], until: str, today: str) -> dict[str, t.Any]:
    """Return the result with its first finding accepted."""
    entry = Accepted("link_down", "node1", until=until, reason="a cable is ordered").result(today)
    return {**found, "deviations": [{**found["deviations"][0], "accepted": entry}, *found["deviations"][1:]]}


def text_of(results: Results, **options: bool) -> str:
    return render(results, survey(results), differences_of(results), **options)


def deviations_of(results: Results) -> dict[str, list[str]]:
    return survey(results).failing()


def test_a_good_run() -> None:
    results = {"node1": result(), "node2": result(sm="node1", lid="2", addresses="10.20.0.2/24")}
    assert text_of(results).splitlines() == [
        "host   port      state   LID  SM LID  rate        interface  mode      MTU   addresses     SM      result",
        "-----  --------  ------  ---  ------  ----------  ---------  --------  ----  ------------  ------  ------",
        "node1  mlx5_0/1  ACTIVE  1    1       100 Gb/sec  ib0        datagram  2044  10.20.0.1/24  master  OK",
        "node2  mlx5_0/1  ACTIVE  2    1       100 Gb/sec  ib0        datagram  2044  10.20.0.2/24  node1   OK",
        "",
        "All 2 hosts are as declared.",
    ]


def slowed(number: int) -> list[Finding]:
    """Return what slows down a node with eight adapters, whose addresses depend on the node."""
    addresses = ["0000:%02x:00.0" % (0x10 * index + number % 3) for index in range(1, 9)]
    found = [Finding(Code.MAX_READ_REQUEST, Topic.ADAPTER, pci, "MaxReadReq", "4096", "512", "5000") for pci in addresses]
    found += [Finding(Code.ASPM_ON, Topic.ADAPTER, addresses[0], "ASPM", "off", "L1")] if number < 3 else []
    return [*found, Finding(Code.NUMA_BALANCING, Topic.SETTING, "kernel.numa_balancing", "", "0", "1")]


def test_notices_are_one_line_for_each_code_and_do_not_count() -> None:
    results = {"node%d" % number: result(found=slowed(number)) for number in range(300)}
    text = text_of(results).splitlines()
    assert deviations_of(results) == {}
    assert text[-1] == "All 300 hosts are as declared."
    assert text[0] == "Notices, which do not count:" and text[4] == "", "one line for each of three codes"
    assert text[1].startswith(
        "  node[0-299] (300 hosts): 2400 alike, such as on node0: PCI Express link of adapter 0000:10:00.0 MaxReadReq: wanted 4096 bytes, "
    )
    assert text[2].startswith("  node[0-2]: 3 alike, such as on node0: PCI Express link of adapter 0000:10:00.0 ASPM: wanted off, found L1 (")
    assert text[3].startswith("  node[0-299] (300 hosts): setting kernel.numa_balancing: wanted 0, found 1 (")
    few = {"node1": result(found=slowed(1)), "node2": result()}
    assert [row.split()[-1] for row in text_of(few).splitlines()[2:4]] == ["OK", "OK"]
    assert len([line for line in text_of(few, full=True).splitlines() if "MaxReadReq" in line]) == 8


def test_notices_are_in_the_files_for_tools() -> None:
    results = {"node1": result(found=slowed(1)[-1:]), "node2": result()}
    fleet = survey(results)
    assert [each["code"] for each in as_data(results, fleet, [])["hosts"]["node1"]["notices"]] == ["numa_balancing"]
    cases = cases_of(fleet)
    assert [(case.name, case.failed, case.finding is None) for case in cases] == [
        ("node1", False, True),
        ("node1: setting kernel.numa_balancing", False, False),
        ("node2", False, True),
    ]


def test_an_accepted_notice_is_listed_as_such() -> None:
    results = {"node1": accepted(result(found=slowed(1)[-1:]), "2026-12-31", "2026-11-29")}
    text = text_of(results)
    assert "Accepted:\n  node1: setting kernel.numa_balancing" in text and "Notices" not in text


def test_deviations_follow_the_table() -> None:
    results = {"node1": result(), "node2": result(found=[MTU], result="BAD")}
    line = "interface ib0 mtu: wanted 4092, found 2044 (run rdma.ofed.site --tags ipoib)"
    assert deviations_of(results) == {"node2": [line]}
    assert text_of(results).splitlines()[-4:] == ["Findings:", "  node2: " + line, "", "1 of 2 hosts are not as declared; 1 as declared."]


def test_equal_deviations_are_one_line_and_a_cause_comes_first() -> None:
    results = {name: result("", [SILENT]) for name in ("node1", "node2", "node3")}
    results["node9"] = result("", [STOPPED, SILENT])
    # One host sees a master, so the fabric as a whole has one.
    results["node5"] = result("0x1")
    lines = text_of(results).splitlines()
    stopped, silent = _words.lines([STOPPED, SILENT])
    assert lines[lines.index("Findings:") + 1 : -2] == ["  node9: " + stopped, "  node[1-3,9]: " + silent]
    assert list(deviations_of(results)) == ["node1", "node2", "node3", "node9"]


def test_one_fault_of_the_fabric_is_one_finding() -> None:
    waiting = Finding(Code.PORT_NOT_CONFIGURED, Topic.PORT, "mlx5_0/1", "", "ACTIVE and LinkUp", "INIT and LinkUp")
    names = ["node%d" % number for number in range(1, 8)]
    results = {name: result("", [waiting, SILENT], result="BAD") for name in names}
    results["node9"] = result("", [STOPPED, waiting, SILENT], result="BAD")
    stopped, silent = _words.lines([STOPPED, SILENT])
    text = text_of(results)
    assert text.splitlines()[-8:] == [
        "",
        "Faults of a whole fabric:",
        "  node[1-7,9] (8 hosts): " + silent,
        "",
        "Findings:",
        "  node9: " + stopped,
        "",
        "1 of 8 hosts are not as declared; 7 wait for the fabric.",
    ]
    assert (text.count("WAITS"), text.count("BAD")) == (7, 1)
    # The designated host fails for it. If it is not in the run, a host that sees it fails.
    assert deviations_of(results) == {"node9": [stopped, silent]}
    del results["node9"]
    assert deviations_of(results) == {"node1": [silent]}


def test_what_one_host_has_besides_the_fault_is_its_own() -> None:
    results = {"node1": result("", [SILENT]), "node2": result("", [DOWN, MTU]), "node3": result("", [SILENT])}
    assert deviations_of(results) == {"node1": _words.lines([SILENT]), "node2": _words.lines([DOWN, MTU])}


def test_a_fail_over_is_a_warning_once() -> None:
    moved = Finding(Code.FAILED_OVER, Topic.SUBNET_MANAGER, "ib", "", "node9", "node2")
    results = {name: result("0x2", [moved], result="NOTED") for name in ("node1", "node2", "node3")}
    assert deviations_of(results) == {}
    lines = text_of(results).splitlines()
    assert lines[-4] == "Faults of a whole fabric:" and lines[-3].startswith(
        "  node[1-3]: subnet manager of fabric ib: wanted one master on node9, found the master"
    )
    assert lines[-1] == "3 as declared but for what is listed above."


def test_what_is_accepted_is_shown_apart_until_it_expires() -> None:
    results = {"node1": accepted(result(found=[DOWN]), "2026-12-31", "2026-12-31"), "node2": result()}
    assert deviations_of(results) == {}
    assert text_of(results).splitlines()[-4:] == [
        "Accepted:",
        "  node1: %s [accepted until 2026-12-31: a cable is ordered]" % _words.lines([DOWN])[0],
        "",
        "1 as declared; 1 as declared but for what is listed above.",
    ]
    expired = {**results, "node1": accepted(result(found=[DOWN]), "2026-12-31", "2027-01-01")}
    assert deviations_of(expired) == {"node1": [_words.lines([DOWN])[0] + " [was accepted until 2026-12-31: a cable is ordered]"]}


def test_hosts_of_one_subnet_are_compared() -> None:
    results = {"node%d" % number: result(addresses="10.20.0.%d/24" % number, pkey="0xffff") for number in range(1, 5)}
    assert survey(results).failing() == {}
    results["node2"] = result(addresses="10.20.0.2/24 fe80::1/64", pkey="0x7fff", mtu="65520", mode="connected")
    results["node3"] = result(addresses="10.20.0.3/24", pkey="0x8001", mtu="4092")
    results["node4"] = result(addresses="10.20.0.1/24", pkey="0xffff")
    failing = survey(results).failing()
    assert list(failing) == ["node1", "node4"]
    # Hosts in connected mode interoperate with the others.
    assert [(each["code"], each["found"]) for each in survey(results).warnings["node2"]] == [("mode_mixed", "connected")]
    assert failing["node4"][0].startswith("interface ib0 addresses: wanted an address of its own, found 10.20.0.1 on node1, too")
    results["node2"] = result(addresses="10.20.0.2/24", pkey="0x7fff", mtu="1500")
    assert survey(results).failing()["node2"][0].startswith("interface ib0 mtu: wanted 2044, as most hosts of 10.20.0.0/24, P_Key 0x7fff of fabric ib")
    # Its own deviation reports that.
    results["node2"] = {**results["node2"], "deviations": [_words.result(MTU)]}
    assert [each["code"] for each in survey(results).errors["node2"]] == ["differs"]


def big_fleet() -> dict[str, dict[str, t.Any]]:
    """Return a thousand hosts with eight rails each and ten different faults."""
    results = {}
    for number in range(1, 1001):
        host, found = "gpu%04d" % number, []
        rails = ["mlx5_%d/1" % rail for rail in range(8)]
        if number % 10 == 1:
            found += [Finding(Code.LINK_DOWN, Topic.PORT, rail, "", "ACTIVE and LinkUp", "DOWN and Polling") for rail in rails[: number % 7 + 1]]
        if number % 25 == 2:
            found.append(Finding(Code.DIFFERS, Kind.INTERFACE, "ib%d" % (number % 8), "addresses", "10.0.0.%d/16" % (number % 250), "none"))
        if number % 50 == 3:
            found.append(Finding(Code.PCIE_DEGRADED, Topic.ADAPTER, "0000:%02x:00.0" % (number % 200), wanted="16 lanes", found="%d lanes" % (number % 8)))
        if number % 100 == 4:
            found += [Finding(Code.BIT_ERRORS, Topic.PORT, rail, found="%g of the bits are wrong" % (number * 1e-12)) for rail in rails]
        if number % 200 == 5:
            found.append(Finding(Code.LOW_LIMIT, Topic.LIMIT, "session", "", "unlimited", str(64 * number)))
        if number % 250 == 6:
            found.append(Finding(Code.OTHER_STACK, Kind.STACK, wanted="doca 2.9", found="doca 2.%d" % (number % 9)))
        if number == 7:
            found.append(Finding(Code.OPENSM_SURPLUS, Topic.OPENSM, "", "state", "stopped", "running (4711)", "gpu0001"))
        if number % 90 == 8:
            found.append(Finding(Code.NO_PORT, Topic.PORT, "mlx5_9/1", wanted="ACTIVE and LinkUp", detail="ports of %s" % host))
        if number % 333 == 9:
            found.append(Finding(Code.GPU_OUT_OF_REACH, Topic.GPU_MEMORY, wanted="auto", detail="no module for kernel 6.%d" % number))
        bad = {finding.subject for finding in found}
        rows = [{**ROW, "port": rail, "result": "BAD" if rail in bad else "OK"} for rail in rails]
        results[host] = {**result("0x1", found), "rows": rows, "adapters": [{"psid": "MT_8", "firmware": "28.%d" % (number % 3)}]}
    for number in (100, 300, 500):
        results["gpu%04d" % number] = {"unreachable": True, "msg": "timed out after %d s" % number}
    return results


def test_a_thousand_hosts_with_ten_faults_are_a_screen() -> None:
    results = big_fleet()
    failing = survey(results).failing()
    lines = text_of(results).splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) < 800
    assert lines[0] == "Findings:", "what is wrong comes first"
    assert lines[-1] == "%d of 1000 hosts are not as declared; %d as declared." % (len(failing), 1000 - len(failing))
    words = "\n".join(lines)
    for fault in (
        "port mlx5_",
        "interface ib",
        "PCI Express",
        "of the bits are wrong",
        "locked memory",
        "doca",
        "opensm",
        "no such port",
        "GPU memory",
        "timed out",
    ):
        assert fault in words
    # All rows on request.
    whole = text_of(results, full=True).splitlines()
    assert len(whole) > 8 * 997
    assert all("..." not in line for line in whole)


def test_few_bad_rows_of_many_are_shown() -> None:
    results = {"node%d" % number: result() for number in range(1, 51)}
    results["node7"] = result(found=[DOWN], state="DOWN", result="BAD")
    lines = text_of(results).splitlines()
    assert lines[0] == "Findings:" and lines[1].startswith("  node7: port mlx5_0/1")
    assert [line.split()[0] for line in lines[3:-2]] == ["host", "-----", "node7"]
    assert lines[-1] == "1 of 50 hosts are not as declared; 49 as declared."


def test_a_run_is_foreseen_to_fail_for_what_no_role_mends() -> None:
    results: dict[str, t.Any] = {
        "node1": result(found=[DOWN, MTU]),
        "node2": result(found=[DOWN]),
        "node3": result(found=[MTU]),
        "node4": {"unreachable": True},
    }
    results["node5"] = accepted(result(found=[DOWN]), "", "2026-12-31")
    deviations = foreseen(results)
    assert list(deviations) == ["node1", "node2"]
    title, line = render_foreseen(deviations).splitlines()
    assert title == "No role corrects this. The run will fail unless you correct it first:"
    assert line.startswith("  node[1-2]: port mlx5_0/1: wanted ACTIVE and LinkUp, found DOWN and Polling (look at the cable")
    assert render_foreseen(foreseen({"node3": results["node3"]})) == ""


def test_a_lost_port_is_foreseen_where_no_change_may_bring_it() -> None:
    results = {
        "node1": result(found=[LOST]),
        "node2": result(found=[UNLOADED, LOST]),
        "node3": result(found=[ETHERNET]),
        "node4": result(found=[UNLOADED, ETHERNET, DOWN]),
    }
    deviations = foreseen(results)
    assert {host: [each["code"] for each in own] for host, own in deviations.items()} == {
        "node1": ["no_port"],
        "node3": ["differs"],
        "node4": ["link_down"],
    }


def test_a_host_without_a_result_deviates_and_has_a_row() -> None:
    results: dict[str, t.Any] = {"node1": result(), "node2": {"unreachable": True, "msg": "no route to host\n"}, "node3": {}, "node4": {"msg": "invalid"}}
    deviations = deviations_of(results)
    assert deviations == {"node2": ["unreachable: no route to host"], "node3": ["not checked: no result"], "node4": ["not checked: invalid"]}
    assert [line.split() for line in text_of(results).splitlines()[3:6]] == [[host, *["-"] * 10, "BAD"] for host in ("node2", "node3", "node4")]


def test_an_error_of_many_lines_is_cut_to_one() -> None:
    message = "\nTask failed: container node3 is not running \nOrigin: /x/roles/node_check/tasks/main.yml:2:3\n\n1 ---\n"
    assert deviations_of({"node3": {"unreachable": True, "msg": message}}) == {"node3": ["unreachable: Task failed: container node3 is not running"]}


def test_two_masters_that_do_not_see_each_other() -> None:
    results = {"node1": result("0x1"), "node2": result("0x1"), "node3": result("0x3")}
    deviations = deviations_of(results)
    assert list(deviations) == ["node3"]
    assert "the fabric is split: 'iblinkinfo' on both sides" in deviations["node3"][0]
    assert text_of(results).splitlines()[4].endswith("BAD")


def test_each_fabric_has_a_master_of_its_own() -> None:
    other = result("0x9", fabric="storage")
    other["fabrics"][0]["fabric"] = "storage"
    assert deviations_of({"node1": result("0x1"), "node2": other}) == {}


def test_a_fabric_without_a_master_excuses_nothing_on_another() -> None:
    waits = Finding(Code.PORT_NOT_CONFIGURED, Topic.PORT, "mlx5_0/1", "", "ACTIVE and LinkUp", "INIT and LinkUp")
    other = waits._replace(subject="mlx5_1/1")
    found = {}
    for name in ("node1", "node2"):
        found[name] = result("", [SILENT, waits, other])
        found[name]["rows"].append({**ROW, "port": "mlx5_1/1", "interface": "ib1", "addresses": "", "fabric": "storage"})
        found[name]["fabrics"].append({"fabric": "storage", "master_guid": "0x2", "designated_host": "node9"})
    fleet = survey(found)
    assert [(fault.fabric, fault.hosts) for fault in fleet.faults] == [("ib", ("node1", "node2"))]
    assert {host: [each["subject"] for each in errors] for host, errors in fleet.errors.items()} == {"node1": ["mlx5_1/1"], "node2": ["mlx5_1/1"]}


def test_no_host() -> None:
    assert text_of({}).splitlines()[-1] == "No host was checked."


def test_the_documentation_shows_the_table_as_it_is_printed() -> None:
    """On one node a port has lost its link, which explains the deviation of its interface."""
    results = {
        "node1": result(),
        "node2": result("", [DOWN], state="DOWN", lid="-", sm_lid="-", addresses="10.20.0.2/24", sm="-", result="BAD"),
        "node3": result(sm="node1", lid="3", addresses="10.20.0.3/24"),
    }
    printed = text_of(results)
    page = pathlib.Path(__file__).resolve().parents[5] / "docs/getting_started.md"
    assert "\n```text\n%s\n```\n" % printed in page.read_text(encoding="utf-8")


def versions_of(*cards: tuple[str, str], kind: str = "", version: str = "") -> dict[str, t.Any]:
    stack = {"kind": kind, "version": version} if kind else {}
    return {"deviations": [], "adapters": [{"pci": "0000:03:00.0", "psid": psid, "firmware": firmware} for psid, firmware in cards], "stack": stack}


def test_equal_hosts_differ_in_nothing() -> None:
    assert differences_of({"node%d" % number: versions_of(("MT_8", "16.35.2000"), kind="doca", version="24.10") for number in range(3)}) == []
    # Other cards have other firmware, distribution versions vary, and nothing is known about the last host.
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
    text = text_of(results)
    assert "Different versions:\n  firmware of adapters with PSID MT_8: 16.35.2000 on node[1-4], 16.31.1014 on node4\n" in text
    assert text.endswith("All 4 hosts are as declared.")
