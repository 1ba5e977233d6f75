# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import time
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _handover, _plan
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import parse_conf
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._places import file_path
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind
from support import clocks

OURS = "0x0000000000100001"
THEIRS = "0x0000000000100002"
PORT = Port("mlx5_0/1", "mlx5_0", 1, port_guid=OURS, link_layer="InfiniBand", phys_state="LinkUp")
OTHER = Port("mlx5_1/1", "mlx5_1", 1, port_guid="0x0000000000100009", link_layer="InfiniBand", phys_state="LinkUp")
UNIT = "rdma-opensm@ib.service"
STOP = Change(Kind.UNIT, UNIT, "state", "running", "stopped")
RECORD = "SMInfoRecord dump:\n" + "".join("\t\t%s\n" % line for line in ("LID...%d", "GUID...%s", "ActCount...1", "Priority...%d", "SMState...%d"))


class Module:
    check_mode = False

    def selinux_enabled(self) -> bool:
        return False

    def atomic_move(self, source: str, target: str) -> None:
        pathlib.Path(source).replace(target)


class Fabric:
    """The own subnet manager is master until systemd makes it read a file with a priority below the standby's."""

    def __init__(self, conf: pathlib.Path | None = None, standby: int | None = 13, answers: bool = True) -> None:
        self.conf, self.standby, self.answers = conf, standby, answers
        self.master = OURS
        self.gone = False
        """Whether the standby has exited, while the master still has its record."""
        self.missed: int | None = None
        """Priority of a standby that only a sweep detects."""
        self.calls: list[str] = []

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(" ".join(argv))
        if argv[0] == "sminfo" and argv[-1] == "2":
            text = "sminfo: sm lid 2 sm guid %s, activity count 1 priority %d state 2 SMINFO_STANDBY\n" % (THEIRS, self.standby or 0)
            return Output(1, "", "sminfo: iberror: failed: query") if self.gone else Output(0, text, "")
        if argv[0] == "sminfo":
            text = "sminfo: sm lid 1 sm guid %s, activity count 1 priority 14 state 3 SMINFO_MASTER\n" % self.master
            return Output(0, text, "") if self.answers else Output(1, "", "sminfo: iberror: failed: Failed to open device")
        if argv[0] == "saquery":
            return Output(0, RECORD % (1, OURS, 14, 3) + (RECORD % (2, THEIRS, self.standby, 2) if self.standby is not None else ""), "")
        assert argv[:2] == ["systemctl", "reload"]
        if self.missed is not None:
            self.standby, self.missed = self.missed, None
        if self.conf and self.standby is not None and self.standby > int(parse_conf(self.conf.read_text())["sm_priority"]):
            self.master = THEIRS
        return Output(0, "", "")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks.without_waiting(monkeypatch)


@pytest.fixture
def conf(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    path = tmp_path / "opensm.conf"
    path.write_text("guid %s\nsm_priority 14\n" % OURS)
    monkeypatch.setattr(_handover, "file_path", lambda fabric: str(path))
    return path


OURS_BY_FILE = Found(files={file_path("ib"): "guid %s\n" % OURS})


def handover(run: t.Any, found: Found = OURS_BY_FILE, *, ports: t.Sequence[Port] = (PORT,), patience: float = 30) -> _handover.Handover:
    return _handover.Handover(t.cast(t.Any, Module()), run, found, ports=ports, patience=patience)


def test_a_standby_takes_over_and_the_file_is_as_before(conf: pathlib.Path) -> None:
    fabric, before = Fabric(conf), conf.read_text()
    handover(fabric).before_end(UNIT)
    assert fabric.master == THEIRS
    assert fabric.calls.count("systemctl reload " + UNIT) == 1
    assert read_text(str(conf)) == before


def test_the_standby_is_master_before_the_old_one_ends(conf: pathlib.Path) -> None:
    """The new master sweeps before it answers as master; the old one already answers as standby."""

    class Sweeping(Fabric):
        looks = 3

        def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
            if argv[0] == "sminfo" and argv[-1] != "2" and self.master == THEIRS and self.looks:
                self.looks -= 1
                return Output(0, "sminfo: sm lid 1 sm guid %s, activity count 1 priority 0 state 2 SMINFO_STANDBY\n" % OURS, "")
            return super().__call__(argv, ok, timeout)

    fabric = Sweeping(conf)
    handover(fabric).before_end(UNIT)
    assert fabric.master == THEIRS
    assert not fabric.looks


class Joined(Fabric):
    """The other subnet manager is master. The own one discovers the fabric for a while, then stands by."""

    looks = 3

    def __init__(self, conf: pathlib.Path, *, priority: int = 12) -> None:
        super().__init__(conf)
        self.master, self.priority = THEIRS, priority
        self.told: list[tuple[str, str]] = []
        """Commands to systemd, each with the priority in the file at that time."""

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[0] == "systemctl":
            assert self.conf
            self.told.append((argv[1], parse_conf(self.conf.read_text())["sm_priority"]))
            return Output(0, "", "")
        if argv[-1] != "9":
            return Output(0, "sminfo: sm lid 2 sm guid %s, activity count 1 priority %d state 3 SMINFO_MASTER\n" % (self.master, self.priority), "")
        self.looks -= 1
        return Output(0, "sminfo: sm lid 9 sm guid %s, activity count 1 priority 0 state %d X\n" % (OURS, 1 if self.looks else 2), "")


def start(fabric: Joined) -> None:
    with handover(fabric).joining(UNIT, PORT._replace(lid=9)):
        fabric(["systemctl", "start", UNIT])


def test_one_that_shall_take_over_starts_with_the_lowest_priority(conf: pathlib.Path) -> None:
    """Otherwise a master hands over too early, and both stand by."""
    fabric, before = Joined(conf), conf.read_text()
    start(fabric)
    assert fabric.told == [("start", "0"), ("reload", "14")]
    assert not fabric.looks
    assert conf.read_text() == before


def test_one_that_does_not_take_over_starts_as_it_is(conf: pathlib.Path) -> None:
    above, alone = Joined(conf, priority=15), Joined(conf)
    alone.master = OURS
    for fabric in (above, alone):
        start(fabric)
        assert fabric.told == [("start", "14")]


def test_a_standby_tells_of_itself_by_a_priority_that_rises(conf: pathlib.Path) -> None:
    before, seen = conf.read_text(), []

    def run(argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        seen.append((" ".join(argv), parse_conf(conf.read_text())["sm_priority"]))
        return Output(0, "", "")

    handover(run).announce(UNIT)
    assert seen == [("systemctl reload " + UNIT, "0"), ("systemctl reload " + UNIT, "14")]
    assert conf.read_text() == before
    handover(run).announce(UNIT, 1)
    # Starts by the role itself do not count towards the limit.
    assert seen[2:] == [("systemctl reset-failed " + UNIT, "14"), ("systemctl restart " + UNIT, "14")]
    # From the lowest priority, no lower one is left to rise from.
    conf.write_text(before.replace("14", "0"))
    handover(run).announce(UNIT)
    assert seen[4:] == [("systemctl reset-failed " + UNIT, "0"), ("systemctl restart " + UNIT, "0")]


def test_without_a_standby_nothing_is_given_away(conf: pathlib.Path) -> None:
    fabric = Fabric(conf, standby=None)
    handover(fabric).before_end(UNIT)
    assert not any(call.startswith("systemctl") for call in fabric.calls)


def test_who_is_not_master_has_nothing_to_give(conf: pathlib.Path) -> None:
    fabric = Fabric(conf)
    fabric.master = THEIRS
    handover(fabric).before_end(UNIT)
    assert not any(call.startswith("systemctl") for call in fabric.calls)


def test_a_unit_of_a_package_is_not_told_anything() -> None:
    fabric = Fabric()
    handover(fabric, Found()).before_end("opensm.service")
    assert not any(call.startswith("systemctl") for call in fabric.calls)


def test_the_ports_that_a_unit_can_be_bound_to() -> None:
    free = {OTHER.port_guid}
    assert _plan.bound_to(UNIT, OURS_BY_FILE, [PORT, OTHER], free=free) == [PORT]
    assert _plan.bound_to("opensm.service", OURS_BY_FILE, [PORT, OTHER], free=free) == [OTHER]
    assert _plan.bound_to("7", OURS_BY_FILE, [PORT, OTHER._replace(phys_state="Polling")], free=free) == []


@pytest.mark.parametrize(
    ("fabric", "taken", "kept"),
    [
        (Fabric(standby=None), [], True),
        (Fabric(standby=13), [], False),
        (Fabric(standby=0), [], True),
        (Fabric(standby=None), [OURS], False),
        (Fabric(standby=None, answers=False), [], True),
        (Fabric(standby=None, answers=False), [OURS], False),
    ],
)
def test_the_only_master_stays(fabric: Fabric, taken: list[str], kept: bool) -> None:
    result = handover(fabric).without_heir([STOP], taken)
    assert list(result) == ([STOP] if kept else [])


class Bare(Fabric):
    def has(self, tool: str) -> bool:
        return False


@pytest.mark.parametrize(
    ("fabric", "word"), [(Bare(), "infiniband-diags"), (Fabric(answers=False), "can.t be queried"), (Fabric(standby=None), "it is master")]
)
def test_what_can_not_be_asked_counts_as_alone_and_says_so(fabric: Fabric, word: str) -> None:
    with pytest.raises(Refused, match=word) as caught:
        handover(fabric, patience=0).require_heirs([STOP])
    assert "rdma_allow_removal" in caught.value.msg
    # Without a link there is no fabric.
    handover(fabric, ports=[PORT._replace(phys_state="Polling")], patience=0).require_heirs([STOP])


def test_a_port_without_a_master_does_not_hold_a_process_that_may_serve_another() -> None:
    class Two(Fabric):
        def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
            if argv[0] == "sminfo" and OTHER.device in argv:
                return Output(1, "", "sminfo: iberror: failed: query")
            return super().__call__(argv, ok, timeout)

    stray = [Change(Kind.PROCESS, "7", "opensm", "running", "stopped")]
    assert handover(Two(), Found(strays=(7,)), ports=[PORT, OTHER], patience=0).without_heir(stray) == {}


def test_a_standby_that_has_ended_is_no_heir(conf: pathlib.Path) -> None:
    fabric = Fabric(conf)
    fabric.gone = True
    assert list(handover(fabric).without_heir([STOP])) == [STOP]
    handover(fabric).before_end(UNIT)
    assert fabric.master == OURS


def test_a_standby_that_was_missed_is_found() -> None:
    fabric = Fabric(standby=None)
    fabric.missed = 13
    assert handover(fabric).without_heir([STOP]) == {}
    assert fabric.calls.count("systemctl reload " + UNIT) == 1


class Stopped(Fabric):
    """A master that hands over to no standby when it is stopped: the standby notices by itself after some polls."""

    ended = False

    def __init__(self, questions: int = 0, *, answers: bool = True) -> None:
        super().__init__(answers=answers)
        self.questions = questions

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if self.ended:
            self.questions -= 1
            if self.questions >= 0:
                return Output(1, "", "sminfo: iberror: failed: query")
            self.master = THEIRS
        return super().__call__(argv, ok, timeout)

    def seconds(self, *stops: Change) -> float:
        """Return the seconds that the role waits for these to exit."""
        begun = time.monotonic()
        with handover(self, Found(strays=(7,)), ports=[PORT, OTHER]).followed(stops, (), timeout=60):
            self.ended = True
        return time.monotonic() - begun


def test_what_is_stopped_and_was_master_is_waited_for() -> None:
    stray = Change(Kind.PROCESS, "7", "opensm", "running", "stopped")
    assert Stopped(80).seconds(stray) == 40
    assert Stopped(80).seconds() == 0
    # Without an answer of the fabric, it is unknown whether one was master.
    assert Stopped(80, answers=False).seconds(stray) == 0
    # The standbys poll for up to 50 s and sweep after that.
    assert Stopped(210).seconds(stray) == 105
    with pytest.raises(CommandFailed, match=r"the fabric of port mlx5_0/1 has had no master for 110 s"):
        Stopped(1000).seconds(stray)
