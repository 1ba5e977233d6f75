# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _master
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import _judge as _fabric
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import _settle
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._found import FabricFound
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._judge import Misplaced
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._master import Known
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Bound
from ansible_collections.rdma.ofed.plugins.module_utils._tools._sminfo import SmInfo
from support import clocks
from support.fabric_views import View, seen

OURS = "0x0000000000100002"
THEIRS = "0x0000000000100001"
PORT = Port("mlx5_0/1", "mlx5_0", 1, port_guid=OURS)
US = SmInfo(1, OURS, 5, 14, 3)
THEM = SmInfo(2, THEIRS, 5, 14, 3)
GOOD = View("ACTIVE", "LinkUp", US, (US,))
MASTER = Instance("ib", OURS, 14)
STANDBY = Instance("ib", OURS, 13, role="standby")
KNOWN = Known(frozenset([OURS]), frozenset(), ("node1", "node2"))


def bound(known: Known = KNOWN, instance: Instance = MASTER) -> Bound:
    return Bound(instance._replace(known=known, designated="node1"), PORT)


class Fabric:
    """sminfo and smpquery of a fabric whose master changes with each sminfo query; the last master stays and answers."""

    def __init__(self, *masters: SmInfo | None, description: str = "node2 mlx5_0", hangs: bool = False) -> None:
        self.masters, self.description, self.hangs = list(masters), description, hangs
        self.count = 0
        self.told: list[str] = []

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        master = self.masters[0]
        if argv[0] == "sminfo":
            master = self.masters.pop(0) if len(self.masters) > 1 else master
            if master is None:
                return Output(255, "", "sminfo: iberror: failed: query")
            self.count += 0 if self.hangs else 1
            text = "sminfo: sm lid %d sm guid %s, activity count %d priority %d state %d SMINFO_MASTER\n"
            return Output(0, text % (master.lid, hex(int(master.guid, 16)), self.count, master.priority, master.state), "")
        if argv[0] == "systemctl":
            self.told.append(" ".join(argv))
        return Output(0, "Node Description:....%s\n" % self.description, "")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks.without_waiting(monkeypatch)


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (GOOD, ""),
        (GOOD._replace(phys_state="Polling"), "no link (physical state Polling)"),
        (GOOD._replace(answer=None), "no subnet manager answers"),
        (GOOD._replace(answer=US._replace(state=2)), "is in state STANDBY"),
        (GOOD._replace(managers=None), "does not answer"),
        (GOOD._replace(managers=(US, THEM)), "there are 2 masters"),
        (GOOD._replace(managers=()), "there are 0 masters: none"),
        (GOOD._replace(managers=(THEM,)), "names %s as master" % THEIRS),
        (GOOD._replace(state="INIT"), "state INIT, not ACTIVE"),
        (GOOD._replace(managers=(US, THEM._replace(state=2))), ""),
    ],
)
def test_what_is_missing(view: View, text: str) -> None:
    found = _fabric.missing(seen(PORT, view))
    assert found == "" if not text else text in found


WE_STAND_BY = US._replace(state=2)
THEY_STAND_BY = THEM._replace(state=2)


def test_the_election() -> None:
    assert _master.outranks((14, THEIRS), (13, OURS)) and not _master.outranks((13, OURS), (14, THEIRS))
    assert _master.outranks((14, THEIRS), (14, OURS)) and not _master.outranks((14, OURS), (14, THEIRS))


@pytest.mark.parametrize(
    ("description", "host"),
    [
        ("node2 mlx5_0", "node2"),
        ("NODE2.cluster.example HCA-1", "node2"),
        ("n3 mlx5_0", "n3.cluster.example"),
        ("node22 mlx5_0", ""),
        ("MF0;sw1:MQM8700/U1", ""),
        ("", ""),
    ],
)
def test_hosts_are_known_by_their_node_description(description: str, host: str) -> None:
    assert _master.host_of(description, ["node1", "node2", "n3.cluster.example"]) == host


def test_nobody_or_ourselves_is_in_the_way() -> None:
    assert _fabric.guard(bound(), FabricFound(Fabric(None), PORT)) is None
    assert _fabric.guard(bound(), FabricFound(Fabric(US), PORT)) is None


def test_a_stranger_is_refused_at_once_and_named() -> None:
    with pytest.raises(Refused) as caught:
        _fabric.guard(bound(), FabricFound(Fabric(THEM, description="MF0;sw1:MQM8700/U1"), PORT))
    assert all(word in caught.value.msg for word in (THEIRS, "LID 2", "MF0;sw1:MQM8700/U1", "opensm_allow_foreign_master: true"))
    assert caught.value.details["master"]["port_guid"] == THEIRS


def test_a_name_alone_makes_no_known_host_where_the_port_guids_are_known() -> None:
    stranger = Fabric(THEM, description="node2 switch")
    known = KNOWN._replace(guids_of={"node2": ("0x0000000000100009",)})
    with pytest.raises(Refused, match="no host of this inventory"):
        _fabric.guard(bound(known), FabricFound(stranger, PORT))
    for mine in ({"node2": (THEIRS,)}, {"node2": ()}, {"node1": (OURS,)}):
        found = _fabric.guard(bound(KNOWN._replace(guids_of=mine)), FabricFound(stranger, PORT))
        assert found is not None and found.host == "node2"
    # A GUID decides regardless of the description.
    found = _fabric.guard(bound(KNOWN._replace(guids_of={"node2": (THEIRS,)})), FabricFound(Fabric(THEM, description="MT4119 ConnectX5"), PORT))
    assert found is not None and found.name == "node2"


ALLOWED = KNOWN._replace(anyone=True)
CONF = MASTER.path("opensm.conf")


@pytest.mark.parametrize(
    ("known", "answer", "description", "before", "priority"),
    [
        (ALLOWED, THEM._replace(priority=4), "MF0;sw1", 14, 0),
        (ALLOWED, THEM._replace(priority=0), "MF0;sw1", 14, 0),
        (ALLOWED._replace(outranked=True), THEM._replace(priority=4), "MF0;sw1", 14, 14),
        (ALLOWED, THEM._replace(priority=4), "node2 mlx5_0", 14, 14),
        (ALLOWED, US, "node1 mlx5_0", 14, 14),
        # The foreign master is away: when it returns, it finds a subnet manager that it outranks.
        (ALLOWED, US._replace(priority=0), "node1 mlx5_0", 0, 0),
        (ALLOWED, None, "", 0, 0),
        (KNOWN, THEM._replace(priority=4), "MF0;sw1", 0, 14),
    ],
)
def test_a_foreign_master_is_not_outranked_unless_that_is_said(known: Known, answer: SmInfo | None, description: str, before: int, priority: int) -> None:
    found = Found(files={CONF: "sm_priority %d\n" % before})
    assert _fabric.stand_below(bound(known), FabricFound(Fabric(answer, description=description), PORT), found).instance.priority == priority


def test_one_that_even_the_lowest_priority_would_win_over_is_refused() -> None:
    weak = SmInfo(2, "0x0000000000900001", 5, 0, 3)
    with pytest.raises(Refused, match="opensm_outrank_foreign_master: true"):
        _fabric.stand_below(bound(ALLOWED), FabricFound(Fabric(weak, description="MF0;sw1"), PORT), Found())


def test_a_cable_in_the_wrong_fabric_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    swapped = KNOWN._replace(elsewhere=frozenset([THEIRS]), anyone=True)
    with pytest.raises(Refused, match="declared on fabric ib, and sees the master port GUID %s" % THEIRS):
        _fabric.guard(bound(swapped), FabricFound(Fabric(THEM), PORT))
    with pytest.raises(Refused, match="a cable is plugged into the wrong switch"):
        settle(monkeypatch, Fabric(THEM), STANDBY, View("ACTIVE", "LinkUp", THEM, (THEM, WE_STAND_BY)), known=swapped)


def test_hosts_of_the_inventory_are_no_strangers() -> None:
    by_name = _fabric.guard(bound(), FabricFound(Fabric(THEM), PORT))
    assert by_name is not None and by_name.name == "node2"
    by_guid = _fabric.guard(bound(KNOWN._replace(guids=frozenset([THEIRS]))), FabricFound(Fabric(THEM, description="MT4119 ConnectX5"), PORT))
    assert by_guid is not None and by_guid.name == THEIRS
    allowed = _fabric.guard(bound(KNOWN._replace(anyone=True)), FabricFound(Fabric(THEM, description="MF0;sw1"), PORT))
    assert allowed is not None and not allowed.known


SWAPPED = KNOWN._replace(elsewhere=frozenset([THEIRS]))
BELOW = THEM._replace(priority=13)


def test_of_two_new_ones_that_meet_the_lower_gives_way_whichever_is_master(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each may see the other as master during the handover, and both stop."""
    met = View("ACTIVE", "LinkUp", BELOW, (BELOW,))
    view, _note = settle(monkeypatch, Fabric(US), MASTER, met, met, GOOD, known=SWAPPED)
    assert view == GOOD
    with pytest.raises(Misplaced, match="and sees the master port GUID %s" % THEIRS):
        settle(monkeypatch, Fabric(BELOW), MASTER, met, known=SWAPPED)
    with pytest.raises(Misplaced, match="and sees the master port GUID %s" % THEIRS):
        settle(monkeypatch, Fabric(BELOW), MASTER, met, GOOD, known=SWAPPED, new=False)


def test_two_that_both_stand_by_meet_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may take the other for the master until it has polled it for a while."""
    higher = THEM._replace(priority=15, state=2)
    with pytest.raises(Misplaced, match="and sees the standby port GUID %s" % THEIRS):
        settle(monkeypatch, Fabric(higher), MASTER, View("ACTIVE", "LinkUp", higher), known=SWAPPED)


@pytest.mark.parametrize("alive", [True, False])
def test_a_standby_of_another_fabric_counts_while_it_answers(alive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    beneath = BELOW._replace(state=2)
    beside = GOOD._replace(managers=(US, beneath))
    if alive:
        with pytest.raises(Misplaced, match="and sees the standby port GUID %s" % THEIRS):
            settle(monkeypatch, Fabric(beneath), MASTER, beside, known=SWAPPED)
    else:
        assert settle(monkeypatch, Fabric(None, US), MASTER, beside, known=SWAPPED)[0] == beside


def settle(monkeypatch: pytest.MonkeyPatch, fabric: Fabric, instance: Instance, *views: View, known: Known = KNOWN, new: bool = True) -> tuple[View, str]:
    """Settle with these successive views, of which the last one stays. Returns the final view and the note."""
    left = list(views)
    monkeypatch.setattr(_settle, "see", lambda run, port: seen(port, left.pop(0) if len(left) > 1 else left[0], run))
    running = () if new else (instance.unit,)
    (ended,) = _settle.settle(
        fabric, [bound(known, instance)], timeout=5, running=running, announce=lambda unit, told: fabric.told.append("announced %d" % told)
    )
    if isinstance(ended, RdmaError):
        raise ended
    return View(ended.fabric.now.state, ended.fabric.now.phys_state, ended.fabric.answer, ended.fabric.managers), ended.note


def test_it_waits_until_the_fabric_is_managed(monkeypatch: pytest.MonkeyPatch) -> None:
    view, note = settle(monkeypatch, Fabric(US), MASTER, View("INIT", "LinkUp"), GOOD._replace(state="INIT"), GOOD)
    assert view == GOOD and note == ""


def test_a_master_that_hangs_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric(US, hangs=True)
    fabric.count = US.activity
    with pytest.raises(RdmaError, match="its activity count stays at 5: it hangs"):
        settle(monkeypatch, fabric, MASTER, GOOD)


def test_the_master_is_told_of_a_standby_that_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric(THEM)
    unknown = View("ACTIVE", "LinkUp", THEM, (THEM,))
    _view, note = settle(monkeypatch, fabric, STANDBY, *[unknown] * 3, unknown._replace(managers=(THEM, WE_STAND_BY)))
    assert (note, fabric.told) == ("", ["announced 0"])
    # It may query too early again.
    with pytest.raises(RdmaError, match="is not known to it"):
        settle(monkeypatch, fabric, STANDBY, unknown)
    assert fabric.told[1:4] == ["announced 0", "announced 1", "announced 2"]


def test_it_says_who_is_still_master(monkeypatch: pytest.MonkeyPatch) -> None:
    _view, note = settle(monkeypatch, Fabric(THEM), MASTER, View("ACTIVE", "LinkUp", THEM, (THEM, WE_STAND_BY)))
    assert note == "fabric ib is still managed by node2, with priority 14: it hands over when this role has run there, and this one stands by"


def test_a_stranger_is_not_stood_by_for(monkeypatch: pytest.MonkeyPatch) -> None:
    view = View("ACTIVE", "LinkUp", THEM, (THEM, WE_STAND_BY))
    with pytest.raises(Refused, match="MF0;sw1"):
        settle(monkeypatch, Fabric(THEM, description="MF0;sw1"), STANDBY, view)
    _view, note = settle(monkeypatch, Fabric(THEM, description="MF0;sw1"), STANDBY, view, known=KNOWN._replace(anyone=True))
    assert note == "fabric ib is managed by the foreign master %s, which is allowed" % THEIRS


def test_the_error_tells_what_was_seen_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RdmaError) as caught:
        settle(monkeypatch, Fabric(None), MASTER, View("INIT", "LinkUp"))
    assert "after 5 s: no subnet manager answers" in caught.value.msg and "journalctl -u rdma-opensm@ib.service" in caught.value.msg
