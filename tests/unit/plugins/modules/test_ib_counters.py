# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counters of a simulated fabric, read twice, and the results when the tools report something else."""

from __future__ import annotations

import json
import pathlib
import re
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters import _report as _counter_report
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters._report import Node, report
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output, failure
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ib_counters import OPTIONS
from ansible_collections.rdma.ofed.plugins.modules import ib_counters
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.module_files import FakeModule

CORPUS = pathlib.Path(__file__).parents[3] / "corpus"
# The recorded topology has no subnet manager, which would have assigned LIDs.
LIDS = {"Switch1": 2, "Switch2": 3, "100001": 1, "100004": 4, "100007": 5, "10000a": 6}
SWITCH1, HCA1 = "0x0000000000200000", "0x0000000000100001"
NO_ERRORS = (CORPUS / "ibqueryerrors/sim_clean.txt").read_text(encoding="utf-8")
EXTENDED = ["PortXmitData", "PortRcvData", "SymbolErrorCounter"]


def topology() -> str:
    lines = []
    for line in (CORPUS / "ibnetdiscover/sim_no_sm_lid0.txt").read_text(encoding="utf-8").splitlines(True):
        for name, lid in LIDS.items():
            if (line.startswith("Switch") and '# "%s" ' % name in line) or line.startswith("[1](%s)" % name):
                line = line.replace("lid 0 lmc", "lid %d lmc" % lid)
        lines.append(line)
    return "".join(lines)


Counts = t.Dict[t.Tuple[str, int], t.Dict[str, int]]


class Fabric:
    """Counters by port GUID and number, as the two tools show and clear them."""

    def __init__(self, counts: Counts | None = None, grows: Counts | None = None) -> None:
        self.counts: Counts = counts or {}
        self.grows: Counts = grows or {}
        self.said: dict[str, Output | None] = {"ibnetdiscover": Output(0, topology(), "")}
        self.warns = ""
        self.wide = True
        self.time = 1700000000.0
        self.started: list[list[str]] = []

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        for place, counters in self.grows.items():
            for name, more in counters.items():
                self.counts.setdefault(place, {})[name] = self.counts.get(place, {}).get(name, 0) + more

    def has(self, tool: str) -> bool:
        return self.said.get(tool, Output(0, "", "")) is not None

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.started.append(list(argv))
        output = self.said[argv[0]] if argv[0] in self.said else getattr(self, argv[0])(list(argv[5:]))
        assert output is not None, argv
        if output.rc == 124 or (ok is not None and output.rc not in ok):
            raise failure(argv, output)
        return output

    def ibqueryerrors(self, options: list[str]) -> Output:
        assert options[:4] == ["--threshold-file", "/dev/null", "--node-name-map", "/dev/null"]
        text = ""
        for (guid, number), counters in self.counts.items():
            shown = {name: value for name, value in counters.items() if value and "Data" not in name}
            if shown:
                text += 'Errors for "x"\n   GUID 0x%x port %d: %s\n' % (int(guid, 16), number, " ".join("[%s == %d]" % item for item in shown.items()))
        if "--clear-errors" in options:
            self.clear(set(self.counts), "--clear-counts" in options)
        return Output(1 if text else 0, text + NO_ERRORS, self.warns)

    def clear(self, places: t.Collection[tuple[str, int]], data: bool) -> None:
        for place in places:
            self.counts[place] = {name: 0 if data or "Data" not in name else value for name, value in self.counts[place].items()}

    def places(self, lid: str, numbers: str) -> list[tuple[str, int]]:
        name = next(name for name, number in LIDS.items() if number == int(lid))
        guid = {"Switch1": "200000", "Switch2": "200001"}.get(name, name)
        return [("0x" + guid.zfill(16), int(number)) for number in numbers.split(",")]

    def perfquery(self, options: list[str]) -> Output:
        lid, numbers, *mask = [option for option in options if not option.startswith("-")]
        wide = "-x" in options
        if wide and not self.wide:
            return Output(255, "", "perfquery: iberror: failed: perfextquery\n")
        if "-R" in options:
            self.clear(self.places(lid, numbers), not mask)
            return Output(0, "", "")
        text = ""
        for place in self.places(lid, numbers):
            counters = {**dict.fromkeys(("SymbolErrorCounter", "LinkDownedCounter", "PortXmitData"), 0), **self.counts.get(place, {})}
            text += "# Port %scounters: Lid %s port %d (CapMask: 0x1A00%s)\n" % ("extended " if wide else "", lid, place[1], " CapMask2: 0x02" if wide else "")
            for name, value in counters.items():
                if not wide or name in EXTENDED:
                    text += "%s:....%d\n" % (name, value if wide else min(value, 0xFFFFFFFF if "Data" in name else 0xFFFF))
        return Output(0, text, "")


@pytest.fixture
def root(tmp_path: pathlib.Path) -> str:
    port = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "gids/0").write_text("fe80:0000:0000:0000:0002:c903:0000:1001\n")
    for name, text in {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "lid": "0x1", "sm_lid": "0x1", "link_layer": "InfiniBand"}.items():
        (port / name).write_text(text + "\n")
    return str(tmp_path)


class Module(FakeModule):
    defaults = {**{name: option.get("default") for name, option in OPTIONS.items()}, "node_name_map": "/nowhere"}


def look(root: str, fabric: Fabric, check_mode: bool = False, **options: t.Any) -> dict[str, t.Any]:
    return report(Node(t.cast("t.Any", Module(check_mode, **options)), t.cast("t.Any", fabric), root, lambda: fabric.time, fabric.sleep))


def codes(result: dict[str, t.Any], of: str = "findings") -> list[t.Any]:
    return [each["code"] for each in result[of]]


def counters(result: dict[str, t.Any]) -> dict[tuple[str, int], dict[str, tuple[t.Any, ...]]]:
    return {(row["name"], row["port"]): {name: tuple(each.values()) for name, each in row["counters"].items()} for row in result["ports"]}


def test_a_fabric_without_errors(root: str) -> None:
    result = look(root, Fabric())
    assert (result["changed"], result["ports"], result["findings"], result["problems"], result["hours"]) == (False, [], [], [], None)
    # Eight ports and port 0 of two switches, and one port of four adapters.
    assert (result["ports_read"], result["port"]) == (22, "mlx5_0/1")


def test_totals_are_judged_where_nothing_is_compared(root: str) -> None:
    fabric = Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 250, "PortXmitWait": 5}, (HCA1, 1): {"LinkDownedCounter": 2}})
    result = look(root, fabric)
    assert counters(result) == {
        ("Hca1", 1): {"LinkDownedCounter": (2, None, None, "normal")},
        ("Switch1", 1): {"SymbolErrorCounter": (250, None, None, "normal"), "PortXmitWait": (5, None, None, "normal")},
    }
    (finding,) = result["findings"]
    assert {key: finding[key] for key in ("code", "severity", "object", "port_guid", "peer_name", "peer_port", "counter", "found", "expected", "course")} == {
        "code": "symbol_errors",
        "severity": "warning",
        "object": "Switch1 port 1",
        "port_guid": SWITCH1,
        "peer_name": "Hca1",
        "peer_port": 1,
        "counter": "SymbolErrorCounter",
        "found": 250,
        "expected": 10,
        "course": "normal",
    }
    assert finding["message"] == "Switch1 port 1 (to Hca1 port 1): SymbolErrorCounter is 250, allowed: 10"
    assert finding["cause"] and finding["next_step"]


def test_growth_over_an_interval(root: str) -> None:
    errors = {"SymbolErrorCounter": 1000, "PortXmitDiscards": 9}
    fabric = Fabric({(SWITCH1, 1): dict(errors)}, {(SWITCH1, 1): {"PortXmitDiscards": 500}, (HCA1, 1): {"LinkDownedCounter": 3}})
    result = look(root, fabric, interval=7200)
    assert counters(result) == {
        ("Hca1", 1): {"LinkDownedCounter": (3, 3, 1.5, "normal")},
        ("Switch1", 1): {"SymbolErrorCounter": (1000, 0, 0.0, "normal"), "PortXmitDiscards": (509, 500, 250.0, "normal")},
    }
    assert [(each["code"], each["found"], each["expected"]) for each in result["findings"]] == [("discards", 500, 200)]
    assert (result["hours"], result["changed"]) == (2, False)
    assert result["findings"][0]["message"] == "Switch1 port 1 (to Hca1 port 1): PortXmitDiscards grew by 500 in 2 h, allowed: 200"


def test_the_worst_comes_first(root: str) -> None:
    grows = {(HCA1, 1): {"VL15Dropped": 500, "PortXmitWait": 10**12}, (SWITCH1, 5): {"SymbolErrorCounter": 40, "LinkDownedCounter": 9}}
    result = look(root, Fabric({}, grows), interval=3600)
    assert codes(result) == ["link_downed", "congestion", "symbol_errors", "management_drops"]
    assert codes(look(root, Fabric({}, grows), interval=3600, suppress=["LinkDownedCounter", "VL15Dropped"], thresholds={"PortXmitWait": "1e13"})) == [
        "symbol_errors"
    ]


def test_growth_since_the_last_run(root: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "sample.json")
    fabric = Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 60000}})
    first = look(root, fabric, sample_file=path)
    # Counts from before the first reading are not judged.
    assert (codes(first), first["hours"], first["changed"], codes(first, "problems")) == ([], None, False, [])
    fabric.grows = {(HCA1, 1): {"PortRcvErrors": 11}}
    fabric.sleep(1800)
    second = look(root, fabric, sample_file=path)
    assert (codes(second), second["hours"]) == (["receive_errors"], 0.5)
    assert counters(second)["Switch1", 1] == {"SymbolErrorCounter": (60000, 0, 0.0, "normal")}
    fabric.time += 60
    assert codes(look(root, fabric, sample_file=path)) == []


def test_check_mode_keeps_the_sample(root: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "sample.json"
    look(root, Fabric(), check_mode=True, sample_file=str(path))
    assert not path.exists()


def test_a_counter_that_was_reset_in_between_is_no_error(root: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "sample.json")
    fabric = Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 60000, "PortXmitWait": 4294967295}})
    look(root, fabric, sample_file=path)
    fabric.counts = {(SWITCH1, 1): {"SymbolErrorCounter": 3}}
    fabric.time += 60
    result = look(root, fabric, sample_file=path)
    assert counters(result)["Switch1", 1] == {"SymbolErrorCounter": (3, 3, 180.0, "reset"), "PortXmitWait": (0, 0, 0.0, "reset")}
    assert codes(result) == []


def test_a_counter_at_its_maximum_is_no_error_and_is_said(root: str) -> None:
    result = look(root, Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 65535}}), interval=10)
    (finding,) = result["findings"]
    assert (finding["code"], finding["severity"], finding["course"]) == ("saturated", "notice", "saturated")


def test_a_port_that_does_not_answer_is_not_taken_for_one_without_errors(root: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "sample.json")
    fabric = Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 500}, (HCA1, 1): {"SymbolErrorCounter": 7}})
    look(root, fabric, sample_file=path)
    whole = fabric.counts
    fabric.counts = {(HCA1, 1): {"SymbolErrorCounter": 7}}
    fabric.warns = "ibwarn: [9] print_errors: IB_GSI_PORT_COUNTERS query failed on Switch1, Lid 2 port 255\n"
    fabric.time += 60
    result = look(root, fabric, sample_file=path)
    assert (list(counters(result)), result["ports_read"], codes(result, "problems")) == ([("Hca1", 1)], 13, ["incomplete"])
    fabric.counts, fabric.warns = whole, ""
    fabric.time += 60
    result = look(root, fabric, sample_file=path)
    assert (counters(result)["Switch1", 1], codes(result)) == ({"SymbolErrorCounter": (500, None, None, "normal")}, [])


@pytest.mark.parametrize("text", ["what", "{}", '{"version": 1, "time": 5}', "[" * 100000])
def test_a_broken_sample_is_said_and_replaced(text: str, root: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "sample.json"
    path.write_text(text)
    result = look(root, Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 500}}), sample_file=str(path))
    assert (codes(result, "problems"), codes(result)) == (["broken_sample"], [])
    assert json.loads(path.read_text())["ports"]["%s/1" % SWITCH1] == {"SymbolErrorCounter": 500}


def test_a_clock_that_was_set_back(root: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "sample.json")
    fabric = Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 500}})
    look(root, fabric, sample_file=path)
    fabric.time -= 60
    result = look(root, fabric, sample_file=path)
    assert (codes(result, "problems"), codes(result), result["hours"]) == (["clock"], [], None)
    fabric.time += 30
    assert codes(look(root, fabric, sample_file=path), "problems") == []


def test_a_look_that_saw_nothing_does_not_replace_the_sample(root: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "sample.json"
    fabric = Fabric()
    look(root, fabric, sample_file=str(path))
    before = path.read_text()
    fabric.said["ibqueryerrors"] = Output(0, "", "ibwarn: [1] no path\n")
    fabric.time += 60
    assert codes(look(root, fabric, sample_file=str(path)), "problems") == ["incomplete", "unfinished"]
    assert path.read_text() == before


def test_a_sample_file_that_is_a_folder(root: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RdmaError, match=r"the sample can't be saved in .*: Is a directory"):
        look(root, Fabric(), sample_file=str(tmp_path))
    with pytest.raises(RdmaError, match="the sample can't be saved in "):
        look(root, Fabric(), sample_file=str(tmp_path / "gone/sample"))


def test_named_ports_are_read_one_by_one_with_their_data(root: str) -> None:
    fabric = Fabric({(SWITCH1, 1): {"PortXmitData": 10**13, "SymbolErrorCounter": 70000}}, {(SWITCH1, 1): {"PortXmitData": 3600}})
    result = look(root, fabric, hosts=["switch1"], ports=[1, 2], interval=3600)
    assert counters(result) == {("Switch1", 1): {"SymbolErrorCounter": (70000, 0, 0.0, "normal"), "PortXmitData": (10**13 + 3600, 3600, 3600.0, "normal")}}
    assert (result["ports_read"], result["problems"]) == (2, [])
    assert [argv[5:] for argv in fabric.started[1:3]] == [["-l", "2", "1,2"], ["-x", "-l", "2", "1,2"]]
    assert all(argv[1:5] == ["-C", "mlx5_0", "-P", "1"] for argv in fabric.started)


def test_a_port_without_counters_of_64_bits(root: str) -> None:
    fabric = Fabric({(HCA1, 1): {"PortXmitData": 10**13}})
    fabric.wide = False
    result = look(root, fabric, guids=["0x100000"], interval=10)
    assert counters(result) == {("Hca1", 1): {"PortXmitData": (4294967295, 0, 0.0, "saturated")}}
    assert (result["findings"], result["problems"]) == ([], [])


def test_nodes_that_are_not_there_or_have_no_lid(root: str) -> None:
    fabric = Fabric()
    assert codes(look(root, fabric, hosts=["nowhere"]), "problems") == ["no_such_node"]
    fabric.said["ibnetdiscover"] = Output(0, (CORPUS / "ibnetdiscover/sim_no_sm_lid0.txt").read_text(encoding="utf-8"), "")
    result = look(root, fabric, hosts=["Hca1"])
    assert (codes(result, "problems"), result["ports_read"]) == (["no_lid"], 0)


@pytest.mark.parametrize(("check_mode", "left"), [(False, 0), (True, 9)])
def test_clear_errors_of_all(check_mode: bool, left: int, root: str) -> None:
    fabric = Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 9, "PortXmitData": 5}})
    result = look(root, fabric, check_mode=check_mode, clear="errors")
    assert (result["changed"], result["cleared"], counters(result)["Switch1", 1]["SymbolErrorCounter"][0]) == (True, 1, 9)
    assert fabric.counts[SWITCH1, 1] == {"SymbolErrorCounter": left, "PortXmitData": 5}
    if not check_mode:
        again = look(root, fabric, clear="errors")
        assert (again["changed"], again["cleared"]) == (False, 0)


@pytest.mark.parametrize(
    ("clear", "after", "options"),
    [
        ("errors", {"SymbolErrorCounter": 0, "PortXmitData": 5}, [["-R", "2", "1", "0x10fff"], ["-x", "-R", "2", "1", "0xfff0000"]]),
        ("all", {"SymbolErrorCounter": 0, "PortXmitData": 0}, [["-R", "2", "1"], ["-x", "-R", "2", "1"]]),
    ],
)
def test_clear_named_ports(clear: str, after: dict[str, int], options: list[list[str]], root: str) -> None:
    fabric = Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 9, "PortXmitData": 5}, (SWITCH1, 2): {"SymbolErrorCounter": 9}, (HCA1, 1): {"SymbolErrorCounter": 9}})
    for check_mode in (True, False):
        result = look(root, fabric, check_mode=check_mode, lids=[2], ports=[1, 3], clear=clear)
        assert (result["changed"], result["cleared"]) == (True, 1)
    assert fabric.counts == {(SWITCH1, 1): after, (SWITCH1, 2): {"SymbolErrorCounter": 9}, (HCA1, 1): {"SymbolErrorCounter": 9}}
    assert [argv[5:] for argv in fabric.started if "-R" in argv] == options
    assert not look(root, fabric, lids=[2], ports=[1, 3], clear=clear)["changed"]


def test_clear_all_of_all(root: str) -> None:
    fabric = Fabric({(SWITCH1, 1): {"PortXmitData": 5}})
    result = look(root, fabric, clear="all")
    assert (result["changed"], result["cleared"], fabric.counts) == (True, 22, {(SWITCH1, 1): {"PortXmitData": 0}})


def test_after_clearing_the_sample_is_one_of_cleared_counters(root: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "sample.json")
    fabric = Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 9}})
    look(root, fabric, sample_file=path, clear="errors")
    fabric.grows = {(SWITCH1, 1): {"SymbolErrorCounter": 2}}
    fabric.sleep(60)
    assert counters(look(root, fabric, sample_file=path))["Switch1", 1] == {"SymbolErrorCounter": (2, 2, 120.0, "normal")}


def test_counters_that_cannot_be_cleared_are_a_failure(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric({(SWITCH1, 1): {"SymbolErrorCounter": 9}})
    real = fabric.perfquery
    monkeypatch.setattr(fabric, "perfquery", lambda options: Output(255, "", "iberror: failed: perf reset") if "-R" in options else real(options))
    with pytest.raises(CommandFailed, match="perf reset"):
        look(root, fabric, lids=[2], clear="errors")


@pytest.mark.parametrize(
    ("said", "options", "wanted"),
    [
        ({"ibqueryerrors": None}, {}, ["not_installed"]),
        ({"perfquery": None}, {"lids": [2]}, ["not_installed"]),
        ({"ibnetdiscover": None, "ibqueryerrors": None}, {}, ["not_installed", "not_installed"]),
        ({"ibqueryerrors": Output(255, "", "can't open UMAD port")}, {}, ["failed"]),
        ({"ibqueryerrors": Output(124, "", "")}, {}, ["failed"]),
        ({"ibqueryerrors": Output(139, "Errors for", "")}, {}, ["failed"]),
        ({"ibqueryerrors": Output(0, "", "")}, {}, ["unfinished"]),
        ({"ibqueryerrors": Output(0, "what\n" + NO_ERRORS, "")}, {}, ["unread"]),
        ({"ibqueryerrors": Output(1, "   GUID 0x77 port 1: [SymbolErrorCounter == 1]\n" + NO_ERRORS, "")}, {}, ["not_in_topology"]),
        ({"perfquery": Output(255, "", "iberror: failed: perfquery")}, {"lids": [1, 2]}, ["failed"]),
        ({"perfquery": Output(124, "", "")}, {"lids": [1]}, ["failed"]),
        ({"perfquery": Output(0, "what\n", "")}, {"lids": [1]}, ["unread"]),
    ],
)
def test_what_is_missing_is_data_and_no_failure(said: dict[str, t.Any], options: dict[str, t.Any], wanted: list[str], root: str) -> None:
    fabric = Fabric()
    fabric.said.update(said)
    result = look(root, fabric, clear="errors", **options)
    assert (codes(result, "problems"), result["findings"], result["changed"]) == (wanted, [], False)
    assert all(problem["message"] for problem in result["problems"])


def test_a_host_without_ports(tmp_path: pathlib.Path) -> None:
    result = look(str(tmp_path), Fabric())
    assert (codes(result, "problems"), result["ports"], result["port"]) == (["no_port"], [], "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": "mlx5_9/1"}, "port is 'mlx5_9/1'"),
        ({"guids": ["what"]}, r"guids\[0\] is 'what'"),
        ({"lids": [2], "ports": [0]}, r"ports\[0\] is 0"),
        ({"ports": [1]}, r"ports is \[1\]; .*none of them is set"),
        ({"interval": -1.0}, "interval is -1.0"),
        ({"interval": float("nan")}, "interval is nan"),
        ({"interval": 5.0, "sample_file": "/x"}, "interval is 5.0; allowed: 0 with sample_file"),
        ({"sample_file": "x"}, "sample_file is 'x'; allowed: the absolute path"),
        ({"thresholds": {"SymbolErrors": 1}}, "thresholds.SymbolErrors is 1; allowed: a number from 0 on, for one of SymbolErrorCounter, "),
        ({"thresholds": {"EffectiveBER": 1.5}}, "thresholds.EffectiveBER is 1.5"),
        ({"thresholds": {"SymbolErrorCounter": -1}}, "thresholds.SymbolErrorCounter is -1"),
        ({"thresholds": {"SymbolErrorCounter": "many"}}, "thresholds.SymbolErrorCounter is 'many'"),
        ({"thresholds": {"SymbolErrorCounter": True}}, "thresholds.SymbolErrorCounter is True"),
        ({"thresholds": {"SymbolErrorCounter": float("inf")}}, "thresholds.SymbolErrorCounter is inf"),
        ({"thresholds": {"SymbolErrorCounter": 10**5000}}, "thresholds.SymbolErrorCounter is "),
        ({"thresholds": {"PortXmitData": 1}}, "thresholds.PortXmitData is 1"),
    ],
)
def test_wrong_options(options: dict[str, t.Any], words: str, root: str) -> None:
    fabric = Fabric()
    with pytest.raises(InvalidInput, match=words):
        look(root, fabric, **options)
    assert fabric.started == []


def test_the_sample_is_written_atomically(root: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[tuple[str, str]] = []
    monkeypatch.setattr(_counter_report, "apply_file", lambda _module, change: kept.append((change.subject, change.before)))
    path = str(tmp_path / "sample.json")
    look(root, Fabric(), sample_file=path)
    assert kept == [(path, "")]


@pytest.mark.parametrize("options", [{}, {"sample_file": "/x", "check_mode": True}])
def test_a_sample_that_is_not_kept_is_not_made(options: dict[str, t.Any], root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample of a large fabric has many megabytes."""
    monkeypatch.setattr(_counter_report._counters, "written", mock.Mock(side_effect=AssertionError("made")))
    assert not look(root, Fabric(), **options)["changed"]


def test_the_choices_are_the_counters_that_are_judged() -> None:
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters._input import LIMITED
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters._types import COUNTERS

    assert OPTIONS["suppress"]["choices"] == list(LIMITED)
    said = re.sub(r"\s+", " ", ib_counters.DOCUMENTATION.partition("  thresholds:")[2].partition("  suppress:")[0])
    assert all("C(%s)" % name in said for name in LIMITED) and "%d" % COUNTERS["PortXmitWait"].per_hour in said


PIECES = st.one_of(
    st.sampled_from([topology(), NO_ERRORS, "   GUID 0x200000 port 1: [SymbolErrorCounter == 1]\n", "9" * 5000, "\n", '"']), st.text(max_size=20)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(pieces=st.lists(st.tuples(PIECES, st.integers(0, 3000), st.integers(0, 3000)), min_size=4, max_size=4))
def test_no_output_is_a_failure(root: str, pieces: list[tuple[str, int, int]]) -> None:
    texts = [text[:end] + text[start:] for text, start, end in pieces]
    fabric = Fabric()
    fabric.said = {"ibnetdiscover": Output(0, texts[0], ""), "ibqueryerrors": Output(1, texts[1], texts[2]), "perfquery": Output(0, texts[3], "")}
    assert look(root, fabric, interval=1)["port"] == look(root, fabric, lids=[2])["port"] == "mlx5_0/1"


def link(guid: str, rate: t.Any, port: int = 1) -> dict[str, t.Any]:
    """Return a port of mlxlink_info with the relevant fields."""
    return {"name": "mlx5_0/1", "port": port, "port_guid": guid, "counters": {"effective_ber": rate, "symbol_ber": 0.0}}


def test_bit_error_rates_of_hosts_are_judged_with_the_counters(root: str) -> None:
    other = "0x0000000000100007"
    links = [link(HCA1, 1e-9), link(other, 0.0), link(other, None), link("", 1e-3), link("0x00000000000000ff", 1e-3)]
    result = look(root, Fabric(), links=links)
    (finding,) = result["findings"]
    assert (finding["code"], finding["port_guid"], finding["port"]) == ("bit_errors", HCA1, 1)
    assert (finding["counter"], finding["found"], finding["expected"], finding["severity"]) == ("EffectiveBER", 1e-9, 1e-12, "error")
    assert finding["message"].endswith("EffectiveBER is 1e-09, allowed: 1e-12") and "cable" in finding["next_step"]
    assert {port["port_guid"]: port["effective_ber"] for port in result["ports"]} == {HCA1: 1e-9}
    # A port of another fabric, and an Ethernet port.
    assert result["problems"] == []


@pytest.mark.parametrize("options", [{"thresholds": {"EffectiveBER": "1e-8"}}, {"suppress": ["EffectiveBER"]}, {"guids": [SWITCH1]}])
def test_bit_errors_within_the_limit_or_left_out(options: dict[str, t.Any], root: str) -> None:
    assert look(root, Fabric(), links=[link(HCA1, 1e-9)], **options)["findings"] == []


def test_what_is_no_port_of_mlxlink_info_is_named(root: str) -> None:
    words = r"links\[1\] is 'a mapping with port_guid'; allowed: an entry of ports as rdma.ofed.mlxlink_info returns it, .*2 entries have another form"
    with pytest.raises(InvalidInput, match=words):
        look(root, Fabric(), links=[link(HCA1, 0), {"port_guid": HCA1}, {}])


def test_links_that_their_hosts_could_not_read_are_told(root: str) -> None:
    error = "FW burnt on device does not support generic access register"
    # The last ones are Ethernet, and of another fabric.
    links = [{**link(guid, None), "error": error} for guid in (HCA1, "", "0x00000000000000ff")]
    (problem,) = look(root, Fabric(), links=links)["problems"]
    assert (problem["code"], problem["total"]) == ("unread_links", 1)
    assert "port 1: " + error in problem["message"]
    assert look(root, Fabric(), links=links, guids=[SWITCH1])["problems"] == []


def test_a_number_that_no_named_node_has_is_told(root: str) -> None:
    result = look(root, Fabric(), guids=[SWITCH1], ports=[1, 77])
    assert [(problem["code"], problem["examples"]) for problem in result["problems"]] == [("no_such_port", ["77"])]
    assert result["ports_read"] == 1


def test_where_nothing_can_be_read_nothing_is_waited_for(root: str) -> None:
    fabric = Fabric()
    result = look(root, fabric, hosts=["nowhere"], interval=600.0)
    assert [problem["code"] for problem in result["problems"]] == ["no_such_node"]
    assert fabric.time == 1700000000.0


def test_a_host_whose_cable_is_pulled_says_that_it_sees_nothing(root: str) -> None:
    state = pathlib.Path(root, "sys/class/infiniband/mlx5_0/ports/1")
    (state / "state").write_text("1: DOWN\n", encoding="utf-8")
    (state / "phys_state").write_text("2: Polling\n", encoding="utf-8")
    first = look(root, Fabric())["problems"][0]
    assert first["code"] == "no_link"
    assert first["message"].startswith("this host does not see the fabric: its port mlx5_0/1 is DOWN (Polling). Check its cable")
