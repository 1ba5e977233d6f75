# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import calendar
import copy
import json
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.plugin_utils._rehearsal._judge import judge, read
from ansible_collections.rdma.ofed.plugins.plugin_utils._rehearsal._words import render

NOON = calendar.timegm((2026, 11, 28, 12, 0, 0))
_HEAD = "Nov 28 12:00:%02d 000000 [B1A106C0] 0x%02x -> %s\n"


def log(*entries: tuple[int, str]) -> str:
    return "".join(_HEAD % (second, 1 if "ERR" in text or "cannot" in text else 0x80, text) for second, text in entries)


OLD = log((1, "OpenSM 3.3.23"), (2, "Entering MASTER state"), (3, "osm_ucast_mgr_process: minhop tables configured on all switches"), (3, "SUBNET UP"))
NEW = log((4, "OpenSM 3.3.23"), (5, "Entering STANDBY state"))
TAKEN = log((22, "Entering MASTER state"), (23, "osm_ucast_mgr_process: minhop tables configured on all switches"), (24, "SUBNET UP"))


def picture(**lids: int) -> dict[str, t.Any]:
    return {"lids": {"%016x" % number: lid for number, lid in zip((0x21, 0x31), lids.values())}, "pkeys": {}, "pairs": 2, "lost": 0, "examples": []}


def event(second: int, manager: str, verb: str, *, met: bool = True) -> dict[str, t.Any]:
    return {"time": NOON + second, "seconds": 1, "manager": manager, "verb": verb, "met": met}


def state(first: str, second: str) -> dict[str, t.Any]:
    managers = [
        {"host": host, "part": part, "priority": priority, "guid": {"node1": "0x20", "node2": "0x30"}[host], "node": host + " mlx5_0"}
        for host, part, priority in ((first, "master", 13), (second, "standby", 12))
    ]
    return {"managers": managers, "resting": [], "engines": [""], "pkeys": {}, "absent": []}


ANSWER: dict[str, t.Any] = {
    "phases": [
        {"name": "before", "begin": NOON, "end": NOON + 10, "events": [event(0, "m1", "start")], "picture": picture(one=1, two=2)},
        {
            "name": "after",
            "begin": NOON + 20,
            "end": NOON + 30,
            "events": [event(20, "m2", "reload"), event(20, "m1", "reload"), event(21, "m2", "settle")],
            "picture": picture(one=1, two=2),
        },
    ],
    "seen": [
        {"time": NOON + 3, "guid": "%016x" % 0x21, "priority": 13, "state": 3},
        {"time": NOON + 22, "guid": "%016x" % 0x21, "priority": 12, "state": 2},
        {"time": NOON + 25, "guid": "%016x" % 0x31, "priority": 13, "state": 3},
    ],
    "ended": {},
    "logs": {"m1": OLD + log((21, "Entering STANDBY state")), "m2": NEW + TAKEN},
    "simulator": "",
}
SUMMARY: dict[str, t.Any] = {
    "hosts": {"m1": "node1", "m2": "node2"},
    "ports": {"%016x" % 0x21: ["0x20", "node1 mlx5_0"], "%016x" % 0x31: ["0x30", "node2 mlx5_0"]},
    "before": state("node1", "node2"),
    "after": state("node2", "node1"),
    "left_out": [],
    "not_simulated": [],
}


def changed(**parts: t.Any) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """Return the answer and the summary with other parts of what is after the change."""
    answer, summary = copy.deepcopy(ANSWER), copy.deepcopy(SUMMARY)
    answer["logs"].update(parts.pop("logs", {}))
    answer["phases"][1]["picture"].update(parts.pop("picture", {}))
    answer["phases"][1].update({"events": parts.pop("events")} if "events" in parts else {})
    summary["after"].update(parts)
    return answer, summary


def test_a_move_as_declared() -> None:
    found = judge(ANSWER, SUMMARY)
    assert found.problems == ()
    assert found.masters == (("before", "node1"), ("after", "node2"))
    assert (found.seconds, found.without, found.several) == (4, 1, 0)
    assert [(line.seconds, line.host, line.words) for line in found.timeline] == [
        (0, "node2", "reads its files"),
        (0, "node1", "reads its files"),
        (1, "node1", "is STANDBY"),
        (2, "node2", "is MASTER"),
        (4, "node2", "has the subnet up, routed by minhop"),
        (5, "node2", "is the master that other nodes see"),
    ]
    text = render(found, SUMMARY, title="A title", changes=["the hosts of group opensm"])
    assert "The subnet was up 4.0 s after the beginning of the change. Without a master: 1.0 s. With more than one: 0.0 s" in text
    assert "Master: node1 before, node2 after" in text and text.endswith("All is as declared")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"events": [event(21, "m2", "settle", met=False)]}, "node2 is not master, or did not bring the subnet up"),
        ({"events": [event(21, "m1", "hand_over", met=False), event(22, "m2", "settle")]}, "node1: the hand-over took too long"),
        ({"picture": {"lost": 1, "examples": [["%016x" % 0x21, "%016x" % 0x31]]}}, "1 pairs of ports have no route, of 2"),
        ({"picture": {"lids": {"%016x" % 0x21: 1}}}, "1 of 2 ports are not found after the change, such as node2 mlx5_0 (0x30)"),
        ({"engines": ["ftree"]}, "the routing engine is minhop, declared: ftree"),
        ({"pkeys": {"0x%016x" % 0x21: [0x8001]}, "picture": {"pkeys": {"%016x" % 0x21: [0xFFFF, 0x8002]}}}, "1 ports have other P_Keys than declared"),
    ],
)
def test_what_is_not_as_declared(parts: dict[str, t.Any], said: str) -> None:
    answer, summary = changed(**parts)
    found = judge(answer, summary)
    assert found.problems == (said,)
    assert render(found, summary, title="A title", changes=[]).endswith("Not as declared:\n  " + said)


def test_ports_are_named_as_in_the_real_fabric() -> None:
    answer, summary = changed(
        picture={"lids": {"%016x" % 0x21: 7, "%016x" % 0x31: 2}, "pkeys": {"%016x" % 0x21: [0xFFFF, 0x8002]}}, pkeys={"0x%016x" % 0x21: [0x8001]}
    )
    found = judge(answer, summary)
    assert found.moved == (("node1 mlx5_0 (0x20)", 1, 7),)
    assert found.pkeys == ("node1 mlx5_0 (0x20): without 0x8001, with 0x8002",)


def test_what_opensm_objects_to_is_reported_by_host() -> None:
    answer, summary = changed(logs={"m2": NEW + log((22, "Entering MASTER state"), (22, "ucast_mgr_route: ftree: cannot build lid matrices")) + TAKEN})
    assert judge(answer, summary).said == {"node2": ("ftree: cannot build lid matrices",)}


def test_two_masters_at_once_are_counted() -> None:
    answer, summary = changed(logs={"m1": OLD + log((26, "Entering STANDBY state"))})
    found = judge(answer, summary)
    assert (found.without, found.several) == (0, 4)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("", "no result"),
        ("Traceback\n", "no result"),
        ('{"phases": []}', "no result"),
        ('answer: {"phases": []}', "no result"),
        ("answer: " + json.dumps({"failed": "no \x1b[1mroom"}), "the simulation failed: no "),
    ],
)
def test_another_output_is_an_error(output: str, said: str) -> None:
    with pytest.raises(RdmaError) as caught:
        read(output)
    assert said in caught.value.msg and "\x1b" not in caught.value.msg
