# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _hear
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told import FULL, NONE, Difference, Told
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told_look import Mark
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Bound
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._tools._opensm_log import Log, Said, Topic, parse_log

LOGS = pathlib.Path(__file__).resolve().parents[4] / "corpus/opensm_log"
BOUND = Bound(Instance("ib", "0x0000000000000011", 13), Port("mlx5_0/1", "mlx5_0", 1))
MASTER = Log(started=True, state="MASTER", sweeps=1, engine="minhop")
FORMER, NEW = "Default=0x7fff : ALL=full;\n", "Default=0x7fff : ALL=full;\na=1 : ALL=full;\n"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(_hear.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(_hear.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setattr(_hear, "read_text", lambda path: "")


def listening(monkeypatch: pytest.MonkeyPatch, whole: Told, *new: Told) -> list[bool]:
    """What the whole log tells, and what it tells behind the mark at each look. Returns which of them were read."""
    looks: list[bool] = []
    left = list(new)

    def listen(_run: t.Any, fabric: str, _port: t.Any, *, since: Mark | None = None) -> Told:
        looks.append(since is not None)
        if since is None:
            return whole
        return left.pop(0) if len(left) > 1 else left[0]

    monkeypatch.setattr(_hear, "listen", listen)
    return looks


def hear(sweeps: bool = True) -> Told:
    return _hear.hear(t.cast(t.Any, None), BOUND, since=Mark(1, 2), sweeps=sweeps, timeout=10)


def test_one_that_goes_on_is_heard_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told("ib", log=MASTER)
    looks = listening(monkeypatch, told)
    assert (hear(sweeps=False), looks) == (told, [False])


def test_the_next_sweep_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a signal, nothing tells that it is master but what it said before."""
    swept = Told("ib", log=Log(sweeps=1, engine="updn"))
    looks = listening(monkeypatch, Told("ib", log=MASTER), Told("ib"), Told("ib"), swept)
    told = hear()
    assert (told.log.engine, told.is_master, looks.count(True)) == ("updn", True, 3)


def test_so_are_the_tables_of_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Told("ib", log=MASTER, differences=(Difference(1, "mlx5_0/1", FULL, NONE),))
    listening(monkeypatch, Told("ib", log=MASTER), late, late._replace(differences=()))
    assert hear().differences == ()
    listening(monkeypatch, Told("ib", log=MASTER), late)
    assert hear().differences == late.differences


def test_a_refusal_is_not_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Told("ib", log=MASTER._replace(sweeps=0, said=(Said(Topic.PARTITIONS, "PARSE ERROR"),)))
    looks = listening(monkeypatch, Told("ib", log=MASTER), refused)
    hear()
    assert looks.count(True) == 1


def test_a_standby_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = listening(monkeypatch, Told("ib"), Told("ib", log=Log(started=True, state="STANDBY")))
    assert not hear().is_master
    assert looks.count(True) == 1


def test_a_sweep_that_does_not_end_leaves_what_was_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Told("ib", log=MASTER._replace(engine="ftree"))
    listening(monkeypatch, whole, Told("ib"))
    assert hear() == whole


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[Change]:
    done: list[Change] = []
    monkeypatch.setattr(_hear, "apply_file", lambda module, change: done.append(change))
    monkeypatch.setattr(_hear, "read_text", lambda path: NEW if path.endswith("/partitions.conf") else "")
    return done


class Calls:
    def __init__(self) -> None:
        self.made: list[list[str]] = []

    def __call__(self, argv: t.Sequence[str], **_more: t.Any) -> None:
        self.made.append(list(argv))


PATH = BOUND.instance.path("partitions.conf")
REFUSED = Told("ib", log=parse_log((LOGS / "partitions_refused.txt").read_text(encoding="utf-8")))


@pytest.mark.parametrize(("former", "words"), [(FORMER, "The former file is back"), ("", "every port is in the default partition")])
def test_what_opensm_refuses_is_taken_back(former: str, words: str, applied: list[Change]) -> None:
    planned, run = Plan((Change(Kind.FILE, PATH, "", former, NEW),)), Calls()
    found = Found(files={PATH: former} if former else {})
    with pytest.raises(CommandFailed, match="line 1: no partition definition found") as caught:
        _hear.take_back_refused(t.cast(t.Any, None), t.cast(t.Any, run), BOUND, told=REFUSED, planned=planned, found=found)
    assert words in caught.value.msg
    assert [(change.subject, change.after) for change in applied] == [(PATH, former)]
    assert run.made == [["systemctl", "reload", "rdma-opensm@ib.service"]]


@pytest.mark.parametrize(("told", "changes"), [(Told("ib", log=MASTER), (Change(Kind.FILE, PATH, "", FORMER, NEW),)), (REFUSED, ())])
def test_nothing_is_taken_back_otherwise(told: Told, changes: tuple[Change, ...], applied: list[Change]) -> None:
    """What this run did not write is a finding, and nothing to take back."""
    run = Calls()
    _hear.take_back_refused(t.cast(t.Any, None), t.cast(t.Any, run), BOUND, told=told, planned=Plan(changes), found=Found())
    assert (applied, run.made) == ([], [])


def test_an_error_tells_what_opensm_says(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (LOGS / "missing_port.txt").read_text(encoding="utf-8")
    monkeypatch.setattr(_hear, "read_log", lambda path, since: text if (path, since) == (BOUND.instance.log, Mark(1, 2)) else "")
    error = _hear.explained(BOUND, Refused("no subnet manager answers", master={}), since=Mark(1, 2))
    assert isinstance(error, Refused) and error.details == {"master": {}}
    assert "Unable to find requested CA guid 0x1234" in error.msg and "/var/log/opensm/ib/opensm.log" in error.msg
    same = RdmaError("x")
    assert _hear.explained(BOUND, same, since=Mark(9, 9)) is same
