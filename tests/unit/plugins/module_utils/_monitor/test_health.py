# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings of the health check on a node, and its reports to Slurm."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._monitor import _health
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._settings import DRAINED, HealthSettings, text_of

GUID = "0x0002c90300000001"
DECLARED = HealthSettings(("mlx5_0/1",), ("ib0",), 100, "n1")


class Node:
    """A node of files, and its state in Slurm."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.state, self.reason = "IDLE", ""
        self.asked = 0
        self.port()
        self.write("sys/class/net/ib0/operstate", "up")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text + "\n", encoding="utf-8")

    def port(self, state: str = "4: ACTIVE", rate: str = "100 Gb/sec (4X EDR)") -> None:
        values = {"state": state, "phys_state": "5: LinkUp", "rate": rate, "link_layer": "InfiniBand"}
        for name, text in {**values, "gids/0": "fe80:0000:0000:0000:0002:c903:0000:0001"}.items():
            self.write("sys/class/infiniband/mlx5_0/ports/1/" + name, text)

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.asked += 1
        assert argv[0] == "scontrol" and timeout < 60
        if argv[1] == "update":
            values = dict(item.split("=", 1) for item in argv[2:])
            assert values["nodename"] == "n1"
            self.state = {"drain": "IDLE+DRAIN", "resume": "IDLE"}[values["state"]]
            self.reason = values.get("reason", "")
        reason = "   Reason=%s [root@2026-01-01T00:00:00]\n" % self.reason if self.reason else ""
        return Output(0, "NodeName=n1 Arch=x86_64 CoresPerSocket=1\n   State=%s ThreadsPerCore=1 TmpDisk=0\n%s\n" % (self.state, reason), "")

    def check(self, settings: HealthSettings = DECLARED) -> list[str]:
        found = _health.problems(settings, str(self.root))
        _health.tell_slurm(self, settings.slurm_node, found, root=str(self.root))
        return found


@pytest.fixture(name="node")
def fresh_node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


@pytest.mark.parametrize("port", ["mlx5_0/1", GUID])
def test_a_node_as_declared(node: Node, port: str) -> None:
    assert node.check(DECLARED._replace(ports=(port,))) == []
    assert node.asked == 0, "the scheduler is left in peace"


def test_everything_that_is_wrong_is_named(node: Node) -> None:
    node.port("1: DOWN", "")
    assert node.check(DECLARED._replace(ports=("mlx5_0/1", "mlx5_1/1"), interfaces=("ib0", "ib1"))) == [
        "port mlx5_0/1 is DOWN (LinkUp)",
        "port mlx5_1/1 is missing",
        "interface ib1 is missing",
    ]
    node.port(rate="25 Gb/sec (1X EDR)")
    assert node.check() == ["port mlx5_0/1 has 25 Gb/s instead of 100"]


def test_without_declared_ports_one_has_to_be_active(node: Node) -> None:
    nothing = HealthSettings(slurm_node="n1")
    assert node.check(nothing) == []
    node.port("2: INIT")
    assert node.check(nothing) == ["no InfiniBand port is active"]


def test_a_node_is_drained_and_taken_back(node: Node) -> None:
    node.write("sys/class/net/ib0/operstate", "down")
    node.check()
    assert (node.state, node.reason) == ("IDLE+DRAIN", "rdma.ofed health: interface ib0 is down")
    node.check()
    assert node.state == "IDLE+DRAIN"
    node.write("sys/class/net/ib0/operstate", "up")
    node.check()
    assert node.state == "IDLE" and not (node.root / DRAINED[1:]).exists()


def test_what_others_drained_stays_out(node: Node) -> None:
    node.state, node.reason = "IDLE+DRAIN", "fan"
    node.port("1: DOWN")
    node.check()
    node.port()
    node.check()
    assert (node.state, node.reason) == ("IDLE+DRAIN", "fan")
    node.state = "IDLE"
    node.port("1: DOWN")
    node.check()
    # An administrator has set another reason since then.
    node.reason = "memory"
    node.port()
    node.check()
    assert (node.state, node.reason) == ("IDLE+DRAIN", "memory")
    assert not (node.root / DRAINED[1:]).exists()


def test_a_drain_that_is_broken_off_is_taken_back(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark is written before the node is drained."""
    node.port("1: DOWN")
    marked = []
    call = Node.__call__

    def broken(self: Node, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[1] == "update":
            marked.append((node.root / DRAINED[1:]).exists())
            call(self, argv, timeout=timeout)
            raise CommandFailed("killed")
        return call(self, argv, timeout=timeout)

    monkeypatch.setattr(Node, "__call__", broken)
    with pytest.raises(CommandFailed):
        node.check()
    monkeypatch.undo()
    node.port()
    node.check()
    assert marked == [True] and node.state == "IDLE"


@pytest.mark.parametrize(
    ("text", "states"), [("", set()), ("State=DOWN*+DRAIN x", {"DOWN", "DRAIN"}), ("State=MIXED+CLOUD+NOT_RESPONDING", {"MIXED", "CLOUD", "NOT", "RESPONDING"})]
)
def test_states_of_slurm(text: str, states: set[str]) -> None:
    assert _health.parse_node(text).states == states


@pytest.mark.parametrize(
    ("wrong", "arguments", "status", "told"),
    [([], [], 0, 0), (["port is down"], [], 1, 0), ([], ["--slurm"], 0, 1), (["port is down"], ["--slurm"], 0, 1)],
)
def test_the_status_of_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: list[str], arguments: list[str], status: int, told: int
) -> None:
    """NHC reads the status. For Slurm the program reports itself and ends with success."""
    calls: list[t.Sequence[str]] = []
    monkeypatch.setattr(_health, "read_text", lambda _path: text_of(DECLARED))
    monkeypatch.setattr(_health, "problems", lambda _settings: wrong)
    monkeypatch.setattr(_health, "tell_slurm", lambda _run, node, found: calls.append([node, *found]))
    monkeypatch.setattr("sys.argv", ["health-check", *arguments])
    assert _health.main() == status
    assert capsys.readouterr().out == "".join(text + "\n" for text in wrong)
    assert calls == [["n1", *wrong]] * told


def test_a_port_of_another_network_is_none_of_the_fabric(node: Node) -> None:
    node.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet")
    fast = HealthSettings(rate_gbps=100)
    assert _health.problems(fast, str(node.root)) == ["no InfiniBand port is active with 100 Gb/s"]
    node.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand")
    assert _health.problems(fast, str(node.root)) == []
    node.port(rate="50 Gb/sec (2X EDR)")
    assert _health.problems(fast, str(node.root)) == ["no InfiniBand port is active with 100 Gb/s"]


def test_a_port_without_a_state_is_named(node: Node) -> None:
    for name in ("state", "phys_state"):
        (node.root / "sys/class/infiniband/mlx5_0/ports/1" / name).unlink()
    assert _health.problems(DECLARED, str(node.root)) == ["port mlx5_0/1 is unknown (unknown)"]


def test_a_node_that_is_right_again_is_not_drained_for_nothing(node: Node) -> None:
    """Leftover: the mark of a check that was interrupted before it reported to Slurm."""
    node.write(DRAINED[1:], "")
    assert node.check() == []
    assert (node.state, node.reason, node.asked) == ("IDLE", "", 1)
    assert not (node.root / DRAINED[1:]).exists()


def test_a_node_that_is_down_is_not_resumed(node: Node) -> None:
    node.write(DRAINED[1:], "")
    node.state, node.reason = "DOWN", "rdma.ofed health: port"
    node.check()
    assert node.state == "DOWN"


def test_settings_that_can_not_be_read_are_an_error_of_their_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(_health, "read_text", lambda _path: "no json")
    assert _health.main() == 2
    assert "can't be read: run the role rdma.ofed.fabric_monitor again" in capsys.readouterr().out


def test_a_scheduler_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(*_arguments: object) -> None:
        raise CommandFailed("scontrol says no")

    monkeypatch.setattr(_health, "read_text", lambda _path: text_of(DECLARED))
    monkeypatch.setattr(_health, "problems", lambda _settings: [])
    monkeypatch.setattr(_health, "tell_slurm", fails)
    monkeypatch.setattr("sys.argv", ["health-check", "--slurm"])
    assert _health.main() == 1
    assert capsys.readouterr().err == "scontrol says no\n"
