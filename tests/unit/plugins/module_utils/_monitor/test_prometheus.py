# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's files for Prometheus and Grafana match the metrics, and Prometheus' own tool accepts them."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._gap import Code, gaps_of
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._metrics import (
    METRICS,
    State,
    View,
    kind_of,
    labels,
    parse_states,
    render,
    samples_of,
    written,
)
from support import hostile

ROOT = pathlib.Path(__file__).resolve().parents[5]
ROLE = ROOT / "roles/fabric_monitor"
RULES, DASHBOARD = ROLE / "files/rdma_fabric.rules.yml", ROLE / "files/rdma_fabric.dashboard.json"
FINDINGS = re.findall(r"^### (\w+)$", (ROOT / "docs/findings.md").read_text(encoding="utf-8"), re.MULTILINE)

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool: it comes with the package prometheus")


def promtool(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], input=said, capture_output=True, encoding="utf-8", check=False)


def rules() -> list[dict[str, t.Any]]:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    found: list[dict[str, t.Any]] = group["rules"]
    return found


@pytest.mark.parametrize("path", [RULES, DASHBOARD], ids=lambda path: path.name)
def test_only_metrics_that_there_are_are_used(path: pathlib.Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"\brdma_fabric_\w+", text))
    assert named and named <= set(METRICS)


def test_the_readme_documents_every_metric() -> None:
    rows = re.findall(r"^\| `(rdma_fabric_\w+)` \| (\w+) \| (.+) \|$", (ROLE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(name, kind_of(name), meaning) for name, meaning in METRICS.items()]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_each_alert_names_its_object_and_a_finding_that_there_is(rule: dict[str, t.Any]) -> None:
    assert "$labels." in rule["annotations"]["summary"]
    anchors = re.findall(r"docs/findings\.md#(\S+)", rule["annotations"]["description"])
    assert anchors or rule["alert"].startswith("RdmaFabricSample")
    assert set(anchors) <= {*FINDINGS, "{{"}


def test_the_dashboard_is_one_of_grafana() -> None:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert board["uid"] and len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) > 5
    assert all(target["expr"] for panel in board["panels"] for target in panel["targets"])


@needs_promtool
def test_promtool_reads_the_metrics() -> None:
    look = View('a \\ "b"\n', 1700000000.25, 1.5, gaps=gaps_of(Code.FAILED, "saquery", ["x"]))
    samples = {**{name: {(): 1.0} for name in METRICS}, **samples_of([look], {look.fabric: State("0x1", 2, 1700000000)})}
    done = promtool("check", "metrics", said=render(METRICS, samples))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs_promtool
def test_promtool_reads_the_rules() -> None:
    done = promtool("check", "rules", str(RULES))
    assert done.returncode == 0, done.stdout + done.stderr


LINK = 'fabric="ib",guid="0x1",instance="n1",node="leaf1",port="5",peer="leaf2",peer_port="6"'
PORT = 'fabric="ib",guid="0x1",instance="n1",node="leaf1",port="5",counter="%s"'
LIMIT = 'rdma_fabric_port_errors_limit{instance="n1",counter="SymbolErrorCounter",code="symbol_errors"}'
GOOD = {
    'rdma_fabric_sample_success{fabric="ib",instance="n1"}': "1+0x60",
    'rdma_fabric_sampled{fabric="ib",instance="n1"}': "1+0x60",
    'rdma_fabric_ports_read{fabric="ib",instance="n1"}': "9+0x60",
    'rdma_fabric_subnet_managers{fabric="ib",instance="n1",state="master"}': "1+0x60",
    'rdma_fabric_master_changes_total{fabric="ib",instance="n1"}': "0+0x60",
    "rdma_fabric_link_active{%s}" % LINK: "1+0x60",
    "rdma_fabric_link_lanes{%s}" % LINK: "4+0x60",
    "rdma_fabric_link_lanes_max{%s}" % LINK: "4+0x60",
    LIMIT: "10+0x60",
}
SYMBOLS = "rdma_fabric_port_errors_total{%s}" % PORT % "SymbolErrorCounter"
CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "all is well": ({}, []),
    "a sample failed": ({next(iter(GOOD)): "1+0x30 0+0x30"}, ["RdmaFabricSampleFailed"]),
    "no master": ({'rdma_fabric_subnet_managers{fabric="ib",instance="n1",state="master"}': "1+0x30 0+0x30"}, ["RdmaFabricNoMaster"]),
    "fail-over": ({'rdma_fabric_master_changes_total{fabric="ib",instance="n1"}': "0+0x57 1+0x3"}, ["RdmaFabricMasterChanged"]),
    "a lost link": (
        {
            **dict.fromkeys(("rdma_fabric_link_active{%s}" % LINK, "rdma_fabric_link_lanes_max{%s}" % LINK), "_x60"),
            "rdma_fabric_link_lanes{%s}" % LINK: "4+0x54",
        },
        ["RdmaFabricLinkLost"],
    ),
    "a link that waits": ({"rdma_fabric_link_active{%s}" % LINK: "1+0x30 0+0x30"}, ["RdmaFabricLinkNotActive"]),
    "a narrow link": ({"rdma_fabric_link_lanes{%s}" % LINK: "4+0x30 1+0x30"}, ["RdmaFabricLinkDegraded"]),
    "few errors": ({SYMBOLS: "5+0x55 5+1x5"}, []),
    "many errors": ({SYMBOLS: "5+0x48 5+9x12"}, ["RdmaFabricPortErrors"]),
    "errors of a new counter": ({SYMBOLS: "_x55 90+0x5"}, ["RdmaFabricPortErrors"]),
    "old errors where the monitor is new": ({'rdma_fabric_ports_read{fabric="ib",instance="n1"}': "_x55 9+0x5", SYMBOLS: "_x55 90+0x5"}, []),
    "a counter that nothing judges": ({"rdma_fabric_port_errors_total{%s}" % PORT % "PortRcvSwitchRelayErrors": "0+100x60"}, []),
    "a full counter": ({'rdma_fabric_port_saturated_counters{fabric="ib",node="leaf1",port="5"}': "1+0x60"}, ["RdmaFabricCountersSaturated"]),
}


@needs_promtool
def test_alerts_fire_for_what_they_are_for_and_for_nothing_else(tmp_path: pathlib.Path) -> None:
    """A sample every five minutes for five hours, evaluated at the end."""
    tests = []
    for name, (series, alerts) in CASES.items():
        rows = [{"series": each, "values": values} for each, values in {**GOOD, **series}.items()]
        expected = [{"exp_labels": {"alertname": alert}} for alert in alerts]
        query = {"expr": "count by (alertname) (ALERTS{alertstate='firing'})", "eval_time": "5h"}
        samples = [{"labels": '{alertname="%s"}' % each["exp_labels"]["alertname"], "value": 1} for each in expected]
        tests.append({"name": name, "interval": "5m", "input_series": rows, "promql_expr_test": [{**query, "exp_samples": samples}]})
    path = tmp_path / "test.yml"
    path.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "5m", "tests": tests}), encoding="utf-8")
    done = promtool("test", "rules", str(path))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", hostile.NAMES)
def test_a_name_of_the_fabric_adds_no_sample(name: str) -> None:
    text = render({"x": "meaning"}, {"x": {labels(node=name, port=1): 1, labels(node="good"): 2}})
    lines = text.split("\n")
    assert len(lines) == 5 and lines[3] == 'x{node="good"} 2'
    assert re.fullmatch(r'x\{node="(?:[^"\\\n]|\\[\\"n])*",port="1"\} 1', lines[2])


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (5, "5"), (5.0, "5"), (1e11, "100000000000"), (0.5, "0.5"), (1.23456, "1.235"), (1234567.8, "1234567.8")]
)
def test_a_value_has_no_more_digits_than_it_needs(number: float, text: str) -> None:
    name = next(iter(METRICS))
    assert render({name: METRICS[name]}, {name: {labels(fabric="ib"): number}}).splitlines()[-1] == '%s{fabric="ib"} %s' % (name, text)


@pytest.mark.parametrize(
    ("codes", "succeeded"),
    [
        ((), True),
        ((Code.UNFINISHED,), False),
        # A fabric without a subnet manager is a state of the fabric, not a failure of the sample.
        ((Code.NO_SUBNET_MANAGER,), True),
        ((Code.UNFINISHED, Code.NO_SUBNET_MANAGER), True),
        ((Code.NOT_INSTALLED,), False),
        ((Code.NOT_INSTALLED, Code.NO_SUBNET_MANAGER), False),
    ],
)
def test_whether_a_look_succeeded(codes: tuple[Code, ...], succeeded: bool) -> None:
    gaps = tuple(gap for code in codes for gap in gaps_of(code, "tool", ["x"]))
    assert View("ib", 1.0, gaps=gaps).succeeded is succeeded


def test_a_state_with_times_that_can_not_be_is_forgotten() -> None:
    good = State("0x1", 1, 2.0, 3.0)
    assert parse_states(written({"a": good, "b": good._replace(changes=-1), "c": good._replace(changed=1e12)})) == {"a": good}
