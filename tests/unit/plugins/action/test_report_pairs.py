# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller combines the results of all hosts of a play into one matrix."""

from __future__ import annotations

import json
import pathlib
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.action import report

END = {"fabric": "ib", "gbps": 100, "left_out": {}, "tests": ["ib_write_bw"]}
FIGURE = {"test": "ib_write_bw", "gbps": 60.0, "usec": None, "loss": None, "problem": "", "no_device": False}
PAIR = {"server": "node1", "tests": ["ib_write_bw"], "figures": [FIGURE], "problem": ""}


def judged(check: bool = False, pairs: t.Sequence[t.Any] = (PAIR,), **arguments: t.Any) -> dict[str, t.Any]:
    task = mock.Mock(
        async_val=0, check_mode=check, diff=False, args={"kind": "pairs", "ends": {"node1": END, "node2": END}, "variable": "measured", **arguments}
    )
    connection = mock.Mock()
    connection._shell.tmpdir = None
    plugin = report.ActionModule(task, connection, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
    hostvars: dict[str, t.Any] = {"node1": {}, "node2": {"measured": list(pairs)}, "node3": {}}
    result: dict[str, t.Any] = plugin.run(task_vars={"hostvars": hostvars, "ansible_play_hosts_all": list(hostvars)})
    return result


def test_what_is_slow_fails_the_task(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = judged(report_dir=str(tmp_path))
    assert result["failed"]
    assert result["msg"] == "pair test: node2 -> node1, ib_write_bw: found 60 Gb/s, expected 80 Gb/s or more (pair_slow)"
    assert result["absent"] == ["node3"]
    report = json.loads((tmp_path / "pair-test.json").read_text(encoding="utf-8"))
    assert report["results"] == result["results"] == [{"fabric": "ib", "server": "node1", "client": "node2", "rate": 100, **FIGURE}]
    assert "Not measured: node3" in capsys.readouterr().out


def test_findings_may_be_left_to_the_caller() -> None:
    assert "failed" not in judged(fail=False)
    assert judged(min_gbps=50)["findings"] == []


def test_check_mode_shows_the_pairs_and_writes_nothing(tmp_path: pathlib.Path) -> None:
    result = judged(True, [{**PAIR, "figures": []}], report_dir=str(tmp_path))
    assert "Would be measured: node2 -> node1: ib_write_bw" in result["table"]
    assert not list(tmp_path.iterdir())


def test_limits_that_can_not_be_are_refused() -> None:
    assert "min_share is 2.0; allowed: " in judged(min_share=2)["msg"]
