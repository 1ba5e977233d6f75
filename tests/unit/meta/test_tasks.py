# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The results of several tasks, as the tests on labs read them."""

from __future__ import annotations

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import tasks

PLAY = {
    "tasks": [
        {"hosts": {"node1": {"changed": True}, "node2": {"failed": True, "msg": "no"}}},
        {"hosts": {"node1": {"changed": False}, "node2": {"changed": True}}},
    ]
}


def output(said: str) -> str:
    return said + json.dumps({"plays": [PLAY], "stats": {}}, indent=4)


def test_each_host_has_its_results_in_the_order_of_the_tasks() -> None:
    found = tasks.parse(output(""))
    assert [(result["failed"], result["changed"]) for result in found["node1"]] == [(False, True), (False, False)]
    assert [(result["failed"], result["changed"]) for result in found["node2"]] == [(True, False), (False, True)]


def test_what_modules_showed_is_kept() -> None:
    assert tasks.parse(output("node1: stage 1 of 2\n"))["node1"][0]["said"] == "node1: stage 1 of 2\n"


def test_check_mode_is_of_the_task() -> None:
    assert tasks.module("ipoib", True, interfaces=[]) == {"rdma.ofed.ipoib": {"interfaces": []}, "check_mode": True}
    assert tasks.shell("true")["check_mode"] is False
