# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings in a fabric with exactly one fault, and no others."""

from __future__ import annotations

import copy
import json
import typing as t
import xml.etree.ElementTree

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import parse_baseline, picture_of, written
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health._judge import Expected, Rule, unknown_nodes
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health._report import expected_of, findings_of, junit, render, require_whole
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._subnet import WIDTHS, is_below
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Severity
from ansible_collections.rdma.ofed.plugins.module_utils._tools._smpquery import SPEEDS
from hypothesis import given
from hypothesis import strategies as st
from support.small_fabric import CABLES, NODES, Data, data, guid, recabled, without

CLEAN = data()


def found(now: Data, before: Data | None = None, **expected: t.Any) -> list[tuple[str, str]]:
    return [(each["code"], each["object"]) for each in findings_of(now, Expected(**expected), picture_of(before) if before else None)]


def test_a_clean_fabric_has_no_finding() -> None:
    hosts = ("node1", "node2.cluster", "node3")
    assert found(CLEAN, CLEAN, hosts=hosts, managers=("node1",), rules=(Rule("", 0, "4X", "EDR"),)) == []


def slow(number: int = 3, width: str = "1X", speed: str = "EDR") -> Data:
    now = copy.deepcopy(CLEAN)
    now["links"][number]["degraded"] = True
    for end in now["links"][number]["ends"]:
        end.update(width=width, speed=speed)
    return now


INTER = "leaf1 port 5 - leaf2 port 5"


@pytest.mark.parametrize("before", [None, CLEAN])
@pytest.mark.parametrize(("width", "speed"), [("1X", "EDR"), ("4X", "SDR")])
def test_a_slow_link_is_one_finding(before: Data | None, width: str, speed: str) -> None:
    now = slow(width=width, speed=speed)
    assert found(now, before) == [("link_degraded", INTER)]
    (finding,) = findings_of(now, Expected(), None)
    assert (finding["found"], finding["expected"], finding["severity"]) == ("%s %s" % (width, speed), "4X EDR", "error")
    assert [(end["name"], end["port"]) for end in finding["ends"]] == [("leaf1", 5), ("leaf2", 5)]


@pytest.mark.parametrize("end", [0, 1])
def test_a_link_is_as_slow_as_the_slower_of_its_ends(end: int) -> None:
    now = copy.deepcopy(CLEAN)
    now["links"][3]["ends"][end]["width"] = "1X"
    assert found(now) == [("link_degraded", INTER)]
    now["links"][3].update(max_width="", max_speed="")
    assert found(now, CLEAN) == [("link_slower", INTER)]


def test_what_is_declared_of_links_counts() -> None:
    now = slow()
    assert found(now, rules=(Rule("leaf2", 5, "1X"),)) == []
    assert found(now, rules=(Rule("leaf2", 0, "1X"), Rule("leaf1", 5, "4X"))) == [("link_degraded", INTER)]
    assert found(now, rules=(Rule("", 0, "1X", "SDR"),)) == []
    assert len(found(CLEAN, rules=(Rule("", 0, "", "HDR"),))) == len(CABLES)
    # Links that iblinkinfo did not list are not judged.
    unknown = copy.deepcopy(now)
    unknown["links"][3].update(max_width="", max_speed="", degraded=None)
    assert found(unknown) == []


def test_a_link_that_was_faster_is_found_where_its_ends_can_do_no_more() -> None:
    now = slow(speed="QDR")
    now["links"][3].update(max_width="1X", max_speed="QDR", degraded=False)
    assert found(now) == [] and found(now, CLEAN) == [("link_slower", INTER)] and found(CLEAN, now) == []


SECOND = {"port_guid": guid("node2"), "name": "node2 mlx5_0", "lid": 2, "priority": 1, "state": "STANDBY", "activity": 1}
GAP = {"code": "no_subnet_manager", "tool": "", "total": 1, "examples": [], "message": "no subnet manager answers"}


@pytest.mark.parametrize(
    ("changes", "expected", "codes"),
    [
        ({"subnet_managers": [], "problems": [GAP]}, {}, [("no_master", "fabric")]),
        ({"subnet_managers": [SECOND]}, {}, [("no_master", "fabric")]),
        # Without a query or an answer, nothing is known.
        ({"subnet_managers": []}, {"managers": ("node1",)}, []),
        ({"subnet_managers": [*CLEAN["subnet_managers"], SECOND]}, {}, []),
        ({"subnet_managers": [*CLEAN["subnet_managers"], SECOND]}, {"managers": ("node1.cluster",)}, [("unexpected_manager", "node2 mlx5_0")]),
        ({"subnet_managers": [*CLEAN["subnet_managers"], SECOND]}, {"managers": ("node1", "node2")}, []),
        ({"subnet_managers": [*CLEAN["subnet_managers"], {**SECOND, "state": "MASTER"}]}, {}, [("several_masters", "fabric")]),
        ({}, {"managers": ("node3",)}, [("other_master", "node1 mlx5_0")]),
        # A declared standby took over: it is not foreign, even if only the designated host is allowed. Two masters are worse.
        ({}, {"line": ("node1", "node2")}, []),
        ({}, {"line": ("node2", "node1.cluster")}, [("failed_over", "node1 mlx5_0")]),
        ({}, {"managers": ("node2",), "line": ("node2", "node1")}, [("failed_over", "node1 mlx5_0")]),
        ({"subnet_managers": [*CLEAN["subnet_managers"], SECOND]}, {"managers": ("node1",), "line": ("node1", "node2")}, []),
        ({}, {"managers": ("node2",), "line": ("node2", "node3")}, [("other_master", "node1 mlx5_0")]),
        ({"subnet_managers": [*CLEAN["subnet_managers"], {**SECOND, "state": "MASTER"}]}, {"line": ("node2", "node1")}, [("several_masters", "fabric")]),
    ],
)
def test_subnet_managers(changes: Data, expected: dict[str, t.Any], codes: list[tuple[str, str]]) -> None:
    assert found({**CLEAN, **changes}, CLEAN, **expected) == codes


def test_two_nodes_of_one_name() -> None:
    now = copy.deepcopy(CLEAN)
    now["nodes"][5]["name"] = now["nodes"][5]["description"] = "node1"
    assert found(now) == [("duplicate_name", "node1")]
    assert [end["node_guid"] for end in findings_of(now, Expected(), None)[0]["ends"]] == [guid("node1"), guid("node2")]
    # Functions of one card, and values that all switches share.
    for changes in ({"system_guid": guid("node1")}, {"description": "Mellanox Technologies Aggregation Node"}):
        same = copy.deepcopy(now)
        same["nodes"][5].update(changes)
        assert found(same) == []


def test_two_ports_of_one_guid() -> None:
    # ibnetdiscover reports them as one port with two cables.
    claimed = copy.deepcopy(CLEAN)
    claimed["ports"].append({**claimed["ports"][0], "node_guid": guid("leaf3"), "name": "leaf3", "port": 2, "port_guid": guid("leaf3")})
    assert found(claimed) == [("duplicate_guid", guid("node1"))]
    shared = copy.deepcopy(CLEAN)
    next(port for port in shared["ports"] if port["name"] == "node2")["port_guid"] = guid("node1")
    assert found(shared) == [("duplicate_guid", guid("node1"))]


def test_firmware_of_equal_switches() -> None:
    now = copy.deepcopy(CLEAN)
    for row in now["nodes"][:4]:
        row.update(firmware="27.2010.3118", psid="MT_1")
    assert found(now) == []
    now["nodes"][2]["firmware"] = "27.2008.3328"
    assert found(now) == [("firmware_differs", "leaf2")]
    assert "27.2010.3118" in findings_of(now, Expected(), None)[0]["expected"]
    now["nodes"][2]["psid"] = "MT_2"
    assert found(now) == []
    # Of two versions on equally many switches, the newer one is expected: 10 is more than 9.
    for row, version in zip(now["nodes"][:4], ("27.9.1", "27.10.1", "27.9.1", "27.10.1")):
        row.update(firmware=version, psid="MT_1")
    assert {finding["expected"] for finding in findings_of(now, Expected(), None) if finding["code"] == "firmware_differs"} == {"27.10.1, as most with MT_1"}


def test_ports_that_partitions_lack() -> None:
    rows = [{"pkey": "0x0001", "full": [guid("node1")], "limited": [guid("node2")]}]
    declared = {0x8001: (guid("node1"), guid("node2"), guid("node3"))}
    assert found({**CLEAN, "partitions": rows}, partitions=declared) == [("partition_member", "node3 port 1 (%s)" % guid("node3"))]
    assert found(CLEAN, partitions=declared) == []


def test_hosts_that_are_not_there() -> None:
    assert found(CLEAN, hosts=("NODE1.cluster", "leaf1", "node9")) == [("host_absent", "leaf1"), ("host_absent", "node9")]
    # The baseline has more about it.
    assert found(without("node3"), CLEAN, hosts=("node3",)) == [("node_lost", "node3")]


@pytest.mark.parametrize(
    ("now", "codes"),
    [
        (recabled((3, None)), [("link_lost", INTER)]),
        (recabled((8, (("leaf2", 9), ("leaf3", 9)))), [("link_new", "leaf2 port 9 - leaf3 port 9")]),
        (recabled((3, (("leaf1", 5), ("leaf2", 9)))), [("link_moved", INTER)]),
        # Both ends moved: it is impossible to tell that the cable is the same.
        (recabled((3, (("leaf1", 9), ("leaf2", 9)))), [("link_lost", INTER), ("link_new", "leaf1 port 9 - leaf2 port 9")]),
        (recabled((3, (("leaf1", 5), ("leaf2", 6))), (4, (("leaf1", 6), ("leaf2", 5)))), [("links_swapped", INTER + " and leaf1 port 6 - leaf2 port 6")]),
        (
            recabled((0, (("leaf1", 1), ("node2", 1))), (1, (("leaf2", 1), ("node1", 1)))),
            [("links_swapped", "leaf1 port 1 - node1 port 1 and leaf2 port 1 - node2 port 1")],
        ),
        # Three cables in a ring.
        (
            recabled((0, (("leaf1", 1), ("node2", 1))), (1, (("leaf2", 1), ("node3", 1))), (2, (("leaf3", 1), ("node1", 1)))),
            [("link_moved", "leaf%d port 1 - node%d port 1" % (number, number)) for number in (1, 2, 3)],
        ),
        # A cable takes the port of another one, which is left unplugged: it is impossible to tell which of them was moved.
        (recabled((3, (("leaf1", 5), ("leaf2", 6))), (4, None)), [("link_lost", INTER), ("link_moved", "leaf1 port 6 - leaf2 port 6")]),
        (without("node3"), [("node_lost", "node3")]),
        (without("leaf3", "node3"), [("node_lost", "leaf3")]),
        (without("spine"), [("node_lost", "spine")]),
        # A host moved to the port of one that is gone.
        (
            data({name: kind for name, kind in NODES.items() if name != "node1"}, [*CABLES[2:], (("leaf1", 1), ("node2", 1))]),
            [("link_moved", "leaf2 port 1 - node2 port 1"), ("node_lost", "node1")],
        ),
        (
            data({**NODES, "leaf4": "switch", "node4": "ca"}, [*CABLES, (("leaf4", 1), ("node4", 1)), (("leaf4", 7), ("spine", 4))]),
            [("node_new", "leaf4")],
        ),
        (data({"other": "ca"}, []), [("node_lost", "leaf1"), ("node_new", "other")]),
    ],
)
def test_against_the_baseline(now: Data, codes: list[tuple[str, str]]) -> None:
    assert sorted(found(now, CLEAN)) == sorted(codes)


def test_a_switch_that_vanished_says_where_it_was_and_what_was_behind_it() -> None:
    (finding,) = findings_of(without("leaf3", "node3"), Expected(), picture_of(CLEAN))
    assert (finding["expected"], finding["found"]) == ("at spine port 3", "not in the fabric, with 1 more behind it")


def replaced(functions: int = 1) -> tuple[Data, Data]:
    """Return the card of node3 before and after its replacement."""
    names = ["node3 mlx5_%d" % number for number in range(functions)]
    cables = [(one, other) for one, other in CABLES if other[0] != "node3"] + [(("leaf3", number + 1), (name, 1)) for number, name in enumerate(names)]
    before = data({**{name: kind for name, kind in NODES.items() if name != "node3"}, **dict.fromkeys(names, "ca")}, cables)
    for row in before["nodes"]:
        if row["name"] in names:
            row["system_guid"] = "0x1"
    text = json.dumps(before)
    for number, name in enumerate(names):
        text = text.replace(guid(name), "0x00000000000077%02d" % number)
    return before, json.loads(text.replace('"0x1"', '"0x2"'))


@pytest.mark.parametrize("functions", [1, 2])
def test_a_card_that_was_swapped_is_one_finding(functions: int) -> None:
    before, now = replaced(functions)
    assert found(now, before) == [("node_replaced", "node3 mlx5_0")]
    # Without the same description or port, it is another node.
    other = json.loads(json.dumps(now).replace('"description": "node3 mlx5_', '"description": "other'))
    assert sorted({code for code, _object in found(other, before)}) == ["node_lost", "node_new"]


@given(st.permutations(range(len(CABLES))), st.permutations(list(NODES)), st.booleans())
def test_the_order_of_the_data_does_not_matter(cables: list[int], nodes: list[str], turn: bool) -> None:
    lines = [CABLES[number][::-1] if turn else CABLES[number] for number in cables]
    assert found(data({name: NODES[name] for name in nodes}, lines), CLEAN) == []


PLUGS = [(name, number) for name in NODES for number in (1, 2, 3)]


@given(st.permutations(PLUGS), st.integers(0, 10), st.permutations(PLUGS), st.integers(0, 10))
def test_each_cable_that_differs_is_in_one_finding(one: list[t.Any], many: int, other: list[t.Any], more: int) -> None:
    def wired(plugs: list[t.Any], count: int) -> Data:
        return data(cables=[(plugs[2 * number], plugs[2 * number + 1]) for number in range(count)])

    before, now = wired(one, many), wired(other, more)
    rows = findings_of(now, Expected(), picture_of(before))
    old, new = ({frozenset(cable) for cable in picture_of(each).cables} for each in (before, now))
    count = {"links_swapped": (2, 2), "link_moved": (1, 1), "link_lost": (1, 0), "link_new": (0, 1)}
    gone, came = (sum(count[row["code"]][side] for row in rows) for side in (0, 1))
    assert (gone, came) == (len(old - new), len(new - old))


def test_a_baseline_comes_back_as_it_was() -> None:
    picture = picture_of(CLEAN)
    assert parse_baseline(written(picture, "2026-01-01T00:00:00Z")) == picture


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.update(version=2),
        lambda table: table.update(nodes={}),
        lambda table: table["nodes"][0].pop("guid"),
        lambda table: table["nodes"][0].update(name=7),
        lambda table: table["nodes"].pop(),
        lambda table: table["links"][0].update(ends=[]),
        lambda table: table["links"][0].pop("speed"),
        lambda table: table["links"][0]["ends"].append(["0x1", 2]),
    ],
)
def test_a_broken_baseline_is_none(change: t.Callable[[Data], None]) -> None:
    table = json.loads(written(picture_of(CLEAN), ""))
    change(table)
    assert parse_baseline(json.dumps(table)) is None


def test_a_topology_with_gaps_is_not_judged() -> None:
    require_whole({**CLEAN, "problems": [GAP, {**GAP, "code": "failed", "tool": "saquery"}]})
    for code, tool in (("failed", "ibnetdiscover"), ("incomplete", "iblinkinfo"), ("no_port", ""), ("not_in_topology", "iblinkinfo")):
        with pytest.raises(RdmaError, match="could not be read as a whole"):
            require_whole({**CLEAN, "problems": [{**GAP, "code": code, "tool": tool}]})


OPTIONS: Data = {"line": [], "name": "ib", "hosts": [], "subnet_managers": [], "partitions": {}, "links": []}
LINK = {"node": "leaf1", "port": 5, "width": "4x", "speed": "edr"}


def test_options() -> None:
    options = {**OPTIONS, "hosts": ["node1"], "line": ["node2"], "partitions": {"0x8001": ["0x1"]}, "links": [LINK]}
    assert expected_of(options) == Expected(("node1",), (), ("node2",), {0x8001: ("0x0000000000000001",)}, (Rule("leaf1", 5, "4X", "EDR"),))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "../ib"}, "name is '../ib'"),
        ({"partitions": {"x": []}}, "partitions is 'x'"),
        ({"partitions": {"0x8000": []}}, "partitions is '0x8000'"),
        ({"partitions": {"0x8001": "all"}}, "partitions is '0x8001'"),
        ({"partitions": {"0x8001": ["node1"]}}, "partitions.0x8001[0]"),
        ({"links": [{**LINK, "width": "3X"}]}, "links[0].width"),
        ({"links": [{**LINK, "speed": "fast"}]}, "links[0].speed"),
        ({"links": [{**LINK, "node": ""}]}, "links[0].port"),
    ],
)
def test_wrong_options(options: Data, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        expected_of({**OPTIONS, **options})
    assert words in caught.value.msg


def test_hosts_with_names_of_another_network_are_known_by_guid() -> None:
    names = tuple("mgmt%d" % number for number in range(1, 4))
    guids = {name: (guid("node%d" % number),) for number, name in enumerate(names, 1)}
    assert found(CLEAN, hosts=names, guids=guids) == []
    assert found(without("node2"), hosts=names, guids=guids) == [("host_absent", "mgmt2")]


def test_hosts_of_which_nothing_is_known_are_one_finding() -> None:
    names = tuple("mgmt%d" % number for number in range(1, 1001))
    (finding,) = findings_of(CLEAN, Expected(hosts=names), None)
    assert (finding["code"], finding["severity"], finding["object"]) == ("hosts_unmatched", "warning", "mgmt[1-1000]")
    assert "fabric_adapters=true" in finding["next_step"]
    # A found host proves that names match.
    assert [code for code, _object in found(CLEAN, hosts=("node1", "mgmt1", "mgmt2"))] == ["host_absent"] * 2
    assert found(CLEAN, hosts=("mgmt1",)) == [("host_absent", "mgmt1")]


@pytest.mark.parametrize("name", ["MT4129 ConnectX7   Mellanox Technologies", "MT25408 ConnectX Mellanox Technologies", "Mellanox Technologies"])
def test_adapters_that_no_host_has_named_are_one_warning(name: str) -> None:
    now = copy.deepcopy(CLEAN)
    adapters = [node for node in now["nodes"] if node["type"] == "ca"]
    for node in adapters:
        node.update(name=name, description=name)
    (finding,) = findings_of(now, Expected(), None)
    assert (finding["code"], finding["severity"], finding["found"]) == ("default_name", "warning", "%d adapters of this name" % len(adapters))
    # For switches it is an ordinary name.
    for node in now["nodes"]:
        node.update(name=name, description=name)
    assert [code for code, _object in found(now)] == ["duplicate_name"]


def test_links_are_declared_of_nodes_that_are_there() -> None:
    rules = (Rule("leaf1", 5, "1X"), Rule("node9", 0, "1X"), Rule("leef2", 0, "1X"), Rule("", 0, "4X"))
    problems = unknown_nodes(Expected(hosts=("node9.cluster",), rules=rules), CLEAN, ())
    assert [(problem.variable, problem.value) for problem in problems] == [("links[2].node", "leef2")]
    assert "did you mean leaf2" in problems[0].hint and "fabric_links" in problems[0].hint
    # A node that exists only in the baseline is off.
    gone = without("spine")
    spine = Expected(rules=(Rule("spine", 0, "4X"),))
    assert unknown_nodes(spine, gone, picture_of(CLEAN).nodes.values()) == []
    assert unknown_nodes(spine, gone, ()) != []


def test_a_baseline_has_the_guids_of_hosts() -> None:
    before = picture_of(CLEAN)._replace(hosts={"mgmt1": (guid("node1"),)})
    assert parse_baseline(written(before, "now")) == before
    former = json.loads(written(picture_of(CLEAN), "now"))
    del former["hosts"]
    assert parse_baseline(json.dumps(former)) == picture_of(CLEAN), "one that an earlier version has saved"
    assert parse_baseline(json.dumps({**former, "hosts": [{"host": 1}]})) is None


def test_the_table_has_equal_findings_once() -> None:
    absent = tuple("host%d" % number for number in range(1, 501))
    rows = findings_of(CLEAN, Expected(hosts=("node1", *absent), rules=(Rule("", 0, "", "HDR"),)), None)
    lines = render("ib", CLEAN, rows).split("\n")
    assert [line.split()[2] for line in lines if line.startswith("error") and "host_absent" in line] == ["host[1-500]"]
    assert any("and %d more" % (len(CABLES) - 3) in line for line in lines)
    assert lines[-1] == "Findings: %d errors, 0 warnings, 0 notices." % (500 + len(CABLES))
    assert render("ib", CLEAN, []).endswith("No findings.")


def test_junit_is_xml_whatever_a_node_is_called() -> None:
    now = copy.deepcopy(CLEAN)
    for row in now["nodes"][5:]:
        row["name"] = row["description"] = 'a"<&\x1b\ud800'
    rows = findings_of(now, Expected(), picture_of(without("node3")))
    suite = xml.etree.ElementTree.fromstring(junit("ib", rows).encode())
    assert {case[0].tag: case.get("classname") for case in suite} == {"failure": "fabric.duplicate_name", "skipped": "fabric.node_new"}
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    assert len(xml.etree.ElementTree.fromstring(junit("ib", []).encode())) == 1


@given(st.sampled_from(SPEEDS + WIDTHS), st.sampled_from(SPEEDS + WIDTHS))
def test_speeds_and_widths_have_an_order(one: str, other: str) -> None:
    same_kind = (one in SPEEDS) == (other in SPEEDS)
    assert not (same_kind and is_below(one, other) and is_below(other, one))
    assert not is_below(one, one) and not is_below("undefined (7)", other) and not is_below(one, "")


def test_severities_have_an_order() -> None:
    assert [severity.value for severity in Severity] == ["error", "warning", "notice"]


def test_of_equal_severity_what_has_changed_since_the_baseline_comes_first() -> None:
    """A declared host that was never there is known; the lost link is new."""
    assert [code for code, _object in found(without("spine"), CLEAN, hosts=("nowhere",))] == ["node_lost", "host_absent"]
