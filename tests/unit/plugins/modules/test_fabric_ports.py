# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The list of active ports from iblinkinfo on a simulated fabric, and the ports reported missing."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check import _active_ports as active
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host import _turn
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from hypothesis import given
from hypothesis import strategies as st

TEXT = (pathlib.Path(__file__).parents[3] / "corpus/iblinkinfo/sim_4hca_line_mode.txt").read_text(encoding="utf-8")
HCA4 = {"port_guid": "0x000000000010000a", "node_description": "Hca4"}
WITHOUT_HCA4 = "".join(line for line in TEXT.splitlines(True) if "Hca4" not in line)


class Fabric:
    """iblinkinfo, and a clock that advances during sleeps."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.now = 0.0

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        assert list(argv[1:5]) == ["-C", "mlx5_1", "-P", "1"], "not through the port of Ethernet"
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not answer:
            raise Unsupported("iblinkinfo is not installed on this node")
        return Output(0, answer, "")

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def port_of_the_fabric(tmp_path: pathlib.Path) -> None:
    """Create the port of the fabric beside an Ethernet port, which comes first."""
    for device, layer in (("mlx5_0", "Ethernet"), ("mlx5_1", "InfiniBand")):
        port = tmp_path / "sys/class/infiniband" / device / "ports/1"
        port.mkdir(parents=True)
        (port / "link_layer").write_text(layer + "\n", encoding="utf-8")
        (port / "phys_state").write_text("5: LinkUp\n", encoding="utf-8")


def test_a_host_without_a_port_says_so(tmp_path: pathlib.Path) -> None:
    assert remember(tmp_path / "bare", TEXT)["reason"] == "this host has no InfiniBand port"


def remember(tmp_path: pathlib.Path, text: str, check: bool = False) -> dict[str, t.Any]:
    return active.remember(mock.Mock(check_mode=check), Fabric(text), str(tmp_path))


def compare(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, wait: float, *answers: str) -> tuple[dict[str, t.Any], float]:
    fabric = Fabric(*answers)
    monkeypatch.setattr(_turn, "time", fabric)
    return active.compare(fabric, wait, str(tmp_path)), fabric.now


def test_what_is_missing_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert remember(tmp_path, TEXT) == {"active": 6, "gone": [], "reason": ""}
    assert compare(tmp_path, monkeypatch, 0, TEXT)[0] == {"active": 6, "gone": [], "reason": ""}
    assert compare(tmp_path, monkeypatch, 0, WITHOUT_HCA4)[0] == {"active": 5, "gone": [HCA4], "reason": ""}


def test_ports_have_time_to_come_back(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(tmp_path, TEXT)
    assert compare(tmp_path, monkeypatch, 60, WITHOUT_HCA4, "", TEXT) == ({"active": 6, "gone": [], "reason": ""}, 2 * active.PAUSE_SECONDS)
    assert compare(tmp_path, monkeypatch, 60, WITHOUT_HCA4) == ({"active": 5, "gone": [HCA4], "reason": ""}, 60)


def test_nothing_is_compared_with_a_list_of_long_ago(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(tmp_path, TEXT)
    assert remember(tmp_path, "")["reason"] == "iblinkinfo is not installed on this node"
    assert compare(tmp_path, monkeypatch, 60, WITHOUT_HCA4) == ({"active": 0, "gone": [], "reason": "there is no record of active ports"}, 0)


def test_a_fabric_that_can_not_be_looked_at_has_lost_nothing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(tmp_path, TEXT)
    assert compare(tmp_path, monkeypatch, 10, "") == ({"active": 0, "gone": [], "reason": "iblinkinfo is not installed on this node"}, 10)


def test_check_mode_keeps_nothing(tmp_path: pathlib.Path) -> None:
    assert remember(tmp_path, TEXT, check=True)["active"] == 6
    assert [path.name for path in tmp_path.iterdir()] == ["sys"]


@given(st.dictionaries(st.text(), st.text()), st.dictionaries(st.text(), st.text()))
def test_what_is_kept_is_read_and_what_is_gone_was_there(before: dict[str, str], now: dict[str, str]) -> None:
    assert active.read_record(active.record_text(before)) == before
    assert {port["port_guid"] for port in active.gone(before, now)} == set(before) - set(now)


@given(st.text())
def test_any_text(text: str) -> None:
    active.read_record(text)
