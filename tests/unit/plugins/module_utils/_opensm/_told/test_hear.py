# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import types
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host import _turn
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text, under
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import TIMED_OUT, Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told import _hear
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told import _look as _told_look
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told import _tables as _told_tables
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told._expect import Told
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told._look import Mark, mark
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Bound
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._tools._opensm_log import Log, Topic, parse_log

LOGS = pathlib.Path(__file__).resolve().parents[5] / "corpus/opensm_log"
OWN, MEMBER = "0x0000000000000011", "0x0000000000000012"
BOUND = Bound(Instance("ib", OWN, 13), Port("mlx5_0/1", "mlx5_0", 1, port_guid=OWN, link_layer="InfiniBand"))
MASTER = Log(started=True, state="MASTER", sweeps=1, engine="minhop")
FORMER, NEW = "Default=0x7fff : ALL=full;\n", "Default=0x7fff : ALL=full;\na=1 : ALL=full;\n"
BEFORE = (LOGS / "minhop.txt").read_text(encoding="utf-8")
SWEPT = """Nov 27 07:05:00 475100 [4B002740] 0x02 -> ucast_mgr_route: updn tables configured on all switches
Nov 27 07:05:00 475200 [4B002740] 0x02 -> SUBNET UP
"""
REFUSES = "Nov 27 07:05:00 475100 [4B002740] 0x01 -> parse_part_conf: PARSE ERROR: line 1: no partition definition found\n"
RESTARTED = """Nov 27 07:05:00 475100 [4B002740] 0x03 -> OpenSM 3.3.23
Nov 27 07:05:00 475200 [4B002740] 0x80 -> Entering STANDBY state
"""


class Host:
    """A host whose opensm is master and has just received a signal: its files, its log, and the port of one member. Each sleep runs the next step."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root, self.now, self.sleeps = root, 0.0, 0
        self.steps: list[t.Callable[[], object]] = []
        self.asked: list[tuple[str, float]] = []
        """Queries to the fabric, with their time limits."""
        self.member = "0xffff 0x8001"
        self.rc = 0
        self.slow: dict[str, float] = {}
        """Duration of a query in seconds."""
        self.write("/etc/rdma-ofed/opensm/ib/opensm.conf", "guid %s\nlog_file %s\n" % (OWN, BOUND.instance.log))
        self.write(BOUND.instance.path("partitions.conf"), "Default=0x7fff : ALL=full;\na=1 : %s=full, %s=full;\n" % (OWN, MEMBER))
        self.write(BOUND.instance.log, BEFORE)
        self.own("0xffff", "0x8001")
        self.since = mark(self.place(BOUND.instance.log))

    def place(self, path: str) -> str:
        return under(str(self.root), path)

    def write(self, path: str, text: str) -> None:
        place = pathlib.Path(self.place(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def own(self, *pkeys: str) -> None:
        for index, pkey in enumerate(pkeys):
            self.write("/sys/class/infiniband/mlx5_0/ports/1/pkeys/%d" % index, pkey + "\n")

    def says(self, text: str) -> None:
        with open(self.place(BOUND.instance.log), "a", encoding="utf-8") as stream:
            stream.write(text)

    def gives(self, table: str) -> None:
        self.member = table

    def many(self) -> None:
        names = ", ".join("0x%016x=full" % number for number in range(0x20, 0x30))
        self.write(BOUND.instance.path("partitions.conf"), "Default=0x7fff : ALL=full;\na=1 : %s=full, %s;\n" % (OWN, names))

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.sleeps += 1
        if self.steps:
            self.steps.pop(0)()

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[0] == "systemctl":
            return Output(0, "", "")
        self.asked.append((argv[-1], timeout))
        self.now += min(timeout, self.slow.get(argv[0], 0.0))
        if self.slow.get(argv[0], 0.0) > timeout:
            if ok is not None:
                raise CommandFailed("it did not end")
            return Output(TIMED_OUT, "", "")
        return Output(self.rc, "   0: %s\n64 pkeys capacity for this port\n" % self.member, "") if argv[0] == "smpquery" else Output(0, "", "")

    def hear(self, sweeps: bool = True) -> Told:
        return _hear.hear(self, BOUND, since=self.since, sweeps=sweeps, timeout=10)

    def asked_for(self, what: str) -> int:
        return len([each for each, _timeout in self.asked if each == what])


@pytest.fixture
def host(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    found = Host(tmp_path)
    # Not in the module time: threads of other tests would move this clock.
    clock = types.SimpleNamespace(monotonic=lambda: found.now, sleep=found.sleep)
    for timed in (_hear, _told_look, _told_tables, _turn):
        monkeypatch.setattr(timed, "time", clock)
    monkeypatch.setattr(_hear, "read_text", lambda path: read_text(found.place(path)))
    for module in (_told_look, _told_tables):
        monkeypatch.setattr(module, "under", lambda _root, path: found.place(path))
    return found


def differing(told: Told) -> list[str]:
    return [each.port for each in told.differences]


def test_one_that_goes_on_is_heard_once(host: Host) -> None:
    told = host.hear(sweeps=False)
    assert (told.log, told.differences, host.sleeps) == (MASTER, (), 0)


def test_the_next_sweep_is_waited_for(host: Host) -> None:
    """After a signal, only older log lines show that it is master."""
    host.steps = [lambda: None, lambda: host.says(SWEPT)]
    told = host.hear()
    assert (told.log.engine, told.is_master, told.differences, host.sleeps) == ("updn", True, (), 2)


def test_the_tables_are_waited_for_after_a_signal(host: Host) -> None:
    """Regression: nothing after the mark says that it is master, so no table was read. A sweep in progress at the signal ended the wait."""
    host.own("0xffff", "0x0000")
    host.gives("0xffff")
    host.steps = [lambda: host.says(SWEPT), lambda: host.own("0xffff", "0x8001"), lambda: host.gives("0xffff 0x8001")]
    assert (differing(host.hear()), host.sleeps) == ([], 3)


def test_tables_that_stay_wrong_are_told_at_the_end(host: Host) -> None:
    host.own("0xffff", "0x0000")
    host.gives("0xffff")
    host.says(SWEPT)
    assert differing(host.hear()) == ["mlx5_0/1", "port GUID %s" % MEMBER]
    assert host.now == 10


def test_a_member_that_is_off_is_asked_once_and_not_waited_for(host: Host) -> None:
    host.rc = 1
    host.says(SWEPT)
    assert (differing(host.hear()), host.sleeps, host.asked_for(MEMBER)) == ([], 0, 1)


def test_a_member_that_goes_is_waited_for_no_longer(host: Host) -> None:
    host.gives("0xffff")
    host.says(SWEPT)
    host.steps = [lambda: setattr(host, "rc", 1)]
    assert (differing(host.hear()), host.sleeps) == ([], 1)


def test_no_table_is_read_before_a_sweep_has_ended(host: Host) -> None:
    host.many()
    host.own("0xffff", "0x0000")
    told = host.hear()
    # The tables still belong to the previous file.
    assert (told.log, told.differences, host.asked) == (MASTER, (), [])


def test_the_records_of_the_fabric_are_read_once(host: Host) -> None:
    """Regression: they were read in each round, every half second."""
    host.many()
    host.gives("0xffff")
    host.says(SWEPT)
    host.steps = [lambda: None, lambda: None, lambda: host.gives("0xffff 0x8001")]
    assert (differing(host.hear()), host.sleeps) == ([], 3)
    assert (host.asked_for("NR"), host.asked_for("PKTR")) == (1, 1)


@pytest.mark.parametrize("tool", ["saquery", "smpquery"])
def test_queries_keep_to_the_time_that_is_left(host: Host, tool: str) -> None:
    """Regression: each query had a limit of its own, beyond that of the role. timeout(1) treats 0 as no limit."""
    host.many()
    host.slow = {tool: 100.0}
    host.gives("0xffff")
    host.says(SWEPT)
    host.hear()
    assert host.now <= 10.5 and all(0 < timeout <= 10 for _what, timeout in host.asked)


def test_slow_records_leave_time_for_the_members(host: Host) -> None:
    host.many()
    host.slow = {"saquery": 100.0}
    host.gives("0xffff")
    host.says(SWEPT)
    assert len(differing(host.hear())) == 8


def test_what_differed_stays_where_the_time_is_over(host: Host) -> None:
    host.gives("0xffff")
    host.says(SWEPT)
    host.steps = [lambda: host.slow.update(smpquery=100.0)]
    assert differing(host.hear()) == ["port GUID %s" % MEMBER]


def test_without_a_word_of_sweeps_the_tables_tell(host: Host) -> None:
    host.write("/etc/rdma-ofed/opensm/ib/opensm.conf", "guid %s\nlog_flags 0x01\nlog_file %s\n" % (OWN, BOUND.instance.log))
    host.gives("0xffff")
    host.steps = [lambda: host.gives("0xffff 0x8001")]
    assert (differing(host.hear()), host.sleeps) == ([], 1)


def test_a_refusal_is_not_waited_out(host: Host) -> None:
    host.says(REFUSES)
    assert host.hear().log.about(Topic.PARTITIONS)
    assert host.sleeps == 0


def test_a_standby_is_not_waited_for(host: Host) -> None:
    host.says(RESTARTED)
    told = host.hear()
    assert (told.is_master, host.sleeps, host.asked) == (False, 0, [])


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
    """Data that this run did not write is a finding; there is nothing to revert."""
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
