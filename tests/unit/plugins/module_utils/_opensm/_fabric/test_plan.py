# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import _plan as _fabric_plan
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._judge import Misplaced
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._master import Known
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Bound
from ansible_collections.rdma.ofed.plugins.module_utils._tools._sminfo import SmInfo
from support.fabric_views import View, seen

OURS, THEIRS = "0x0000000000100002", "0x0000000000100001"
PORT = Port("mlx5_0/1", "mlx5_0", 1, port_guid=OURS)
US, THEM = SmInfo(1, OURS, 5, 14, 3), SmInfo(2, THEIRS, 5, 14, 3)
WE_STAND_BY, THEY_STAND_BY = US._replace(state=2), THEM._replace(state=2)
HEIR, THEY_LEAD = THEM._replace(priority=13, state=2), THEM._replace(priority=13)
MASTER, STANDBY = Instance("ib", OURS, 14), Instance("ib", OURS, 13, role="standby")


@pytest.mark.parametrize(
    ("instance", "answer", "others", "wait", "note", "late"),
    [
        (MASTER, US, [], "", "", False),
        (MASTER, US, [THEY_STAND_BY], "", "", False),
        (MASTER, US._replace(priority=3), [], "still has priority 3, not 14", "", False),
        (MASTER, THEM._replace(priority=13), [WE_STAND_BY], "has not handed over yet", "", False),
        (MASTER, THEM, [WE_STAND_BY], "", "", True),
        (MASTER, THEM._replace(priority=15), [WE_STAND_BY], "", "", True),
        (MASTER, THEM, [], "is not known to it", "", False),
        (MASTER, THEM, [US._replace(state=1)], "is in state DISCOVER", "", False),
        (STANDBY, THEM, [WE_STAND_BY], "", "", False),
        (STANDBY, THEM, [], "is not known to it", "", False),
        (STANDBY, US._replace(priority=13), [], "", "this standby is master of fabric ib, because the designated host node1 runs none", False),
        (STANDBY, US._replace(priority=13), [THEY_STAND_BY], "has not taken over yet", "", False),
        (STANDBY, US._replace(priority=13), [THEY_STAND_BY._replace(priority=12)], "", "this standby is master", False),
    ],
)
def test_the_fabric_plan_as_one_look_sees_it(instance: Instance, answer: SmInfo, others: list[SmInfo], wait: str, note: str, late: bool) -> None:
    found = _fabric_plan.election(seen(PORT, View("ACTIVE", "LinkUp", answer, (answer, *others))), instance._replace(designated="node1"))
    assert found.late == late
    assert (wait in found.wait, bool(found.wait)) == (True, bool(wait))
    assert (note in found.note, bool(found.note)) == (True, bool(note))


def planned(view: View, known: Known, *, new: bool = True, alive: bool = True, description: str = "", instance: Instance = MASTER) -> _fabric_plan.Election:
    fabric = seen(PORT, view, replies=view.managers or ())
    vars(fabric).update(is_alive=alive, description=lambda _lid: description)
    return _fabric_plan.plan(Bound(instance._replace(known=known), PORT), fabric, new=new)


NO_MANAGER, OURS_LEADS = View("INIT", "LinkUp"), View("ACTIVE", "LinkUp", US, (US,))
MET = View("ACTIVE", "LinkUp", THEM._replace(priority=13), (THEM._replace(priority=13), WE_STAND_BY))
KNOWN, SWAPPED = Known(hosts=("node1", "node2")), Known(elsewhere=frozenset([THEIRS]))


def test_nothing_is_left_where_ours_is_master_and_alive() -> None:
    assert planned(OURS_LEADS, KNOWN) == _fabric_plan.Election()
    assert planned(OURS_LEADS, KNOWN, alive=False).wait.endswith("it hangs")
    assert planned(NO_MANAGER, KNOWN).wait == "no subnet manager answers"


def test_a_wait_comes_before_the_question_whether_the_master_is_alive() -> None:
    """That question takes a query in each look."""
    fabric = seen(PORT, OURS_LEADS._replace(state="INIT"))
    assert _fabric_plan.plan(Bound(MASTER._replace(known=KNOWN), PORT), fabric, new=True).wait == "the port is in state INIT, not ACTIVE"


def test_who_is_met_gives_way_or_is_refused() -> None:
    assert planned(MET, SWAPPED).wait
    with pytest.raises(Misplaced, match="declared on another fabric"):
        planned(MET, SWAPPED, new=False)
    with pytest.raises(Misplaced, match="declared on another fabric"):
        planned(MET, SWAPPED, instance=STANDBY)
    # The own subnet manager is master already, and the other one stands by until it exits.
    beside = OURS_LEADS._replace(managers=(US, THEY_STAND_BY._replace(priority=13)))
    assert planned(beside, SWAPPED).wait == "%s, which is declared on another fabric, still runs" % THEIRS


def test_whose_master_it_is_is_asked_at_the_end() -> None:
    view = View("ACTIVE", "LinkUp", THEM, (THEM, WE_STAND_BY))
    assert planned(view, KNOWN, description="node2 mlx5_0").note.startswith("fabric ib is still managed by node2, with priority 14")
    assert planned(view, KNOWN, description="node2 mlx5_0", instance=STANDBY).note == ""
    assert "foreign master" in planned(view, KNOWN._replace(anyone=True), description="switch").note
    with pytest.raises(Refused, match="no host of this inventory"):
        planned(view, KNOWN, description="switch")


@pytest.mark.parametrize(
    ("answer", "others", "replies", "why", "gives"),
    [
        (US, [], [], "no other subnet manager stands by", False),
        (US, [HEIR], [HEIR], "", True),
        # opensm never hands over to the lowest priority, and keeps records of subnet managers that have exited.
        (US, [HEIR._replace(priority=0)], [HEIR], "no other subnet manager stands by", False),
        (US, [HEIR], [], "no other subnet manager stands by", False),
        (US, [HEIR], [HEIR._replace(state=1)], "no other subnet manager stands by", False),
        (THEY_LEAD, [], [], "", False),
        # Neither a silent fabric nor one whose subnet managers are all discovering shows the successor.
        (None, [], [], "no subnet manager answers", False),
        (US._replace(state=2), [], [], "no subnet manager answers", False),
    ],
)
def test_who_follows_a_subnet_manager_that_ends(answer: SmInfo | None, others: list[SmInfo], replies: list[SmInfo], why: str, gives: bool) -> None:
    managers = (answer, *others) if answer is not None and answer.is_master else None
    fabric = seen(PORT, View(answer=answer, managers=managers), replies=replies)
    found = _fabric_plan.alone(fabric, [OURS])
    assert (why in found, bool(found)) == (True, bool(why))
    assert _fabric_plan.can_hand_over(fabric) == gives


def test_another_manager_of_the_same_host_is_no_heir_where_the_host_leaves() -> None:
    fabric = seen(PORT, View(answer=US, managers=(US, HEIR)), replies=[HEIR])
    assert _fabric_plan.heirs(fabric, [OURS]) == [THEIRS]
    assert _fabric_plan.alone(fabric, [OURS, THEIRS])


def test_the_fabric_has_moved_once_another_one_is_master() -> None:
    assert [_fabric_plan.has_moved(seen(PORT, View(answer=answer))) for answer in (None, US, HEIR, THEY_LEAD)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("answer", "priority", "takes"), [(THEY_LEAD, 14, True), (THEY_LEAD, 13, True), (THEY_LEAD, 12, False), (US, 15, False), (None, 15, False)]
)
def test_one_that_starts_takes_over_from_a_master_of_no_higher_priority(answer: SmInfo | None, priority: int, takes: bool) -> None:
    assert _fabric_plan.takes_over(seen(PORT, View(answer=answer)), priority) == takes
