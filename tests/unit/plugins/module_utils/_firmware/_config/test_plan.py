# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._check import check
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._plan import differences, plan
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._wanted import Setting, Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import Device
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Row
from hypothesis import given
from hypothesis import strategies as st

DEVICE = Device("0000:03:00.0", ("0000:03:00.0",))


def wanted_with(reset_all: bool = False, **settings: str | None) -> Wanted:
    return Wanted(DEVICE, {name: Setting(value, "here") for name, value in settings.items()}, reset_all)


def rows(*found: Row) -> dict[str, Row]:
    return {row.name: row for row in found}


def test_next_counts_and_current_is_pending() -> None:
    waiting = rows(Row("LINK_TYPE_P1", "ETH(2)", "IB(1)", "IB(1)"))
    step = plan(wanted_with(LINK_TYPE_P1="2"), waiting)
    assert not step.changes()
    assert [entry.change.words() for entry in step.pending()] == ["0000:03:00.0 LINK_TYPE_P1: IB(1) -> ETH(2)"]
    back = plan(wanted_with(LINK_TYPE_P1="IB"), waiting)
    assert [change.words() for change in back.changes()] == ["0000:03:00.0 LINK_TYPE_P1: ETH(2) -> IB"]
    assert back.pending() == ()


def test_the_tools_own_reading_of_a_value_decides() -> None:
    found = rows(Row("A", "X(3)", "X(3)", "X(3)"), Row("B", "X(3)", "X(3)", "X(3)"))
    step = plan(wanted_with(A="alias", B="Y"), found, {"A": "X(3)", "B": "Y(4)"})
    assert step.assignments == {"B": "Y"} and step.after() == {"B": "Y(4)"}


def test_read_only_at_its_value_is_no_problem() -> None:
    found = rows(Row("A", "True(1)", "False(0)", "True(1)", read_only=True))
    assert check(wanted_with(A="yes"), found) == []
    (problem,) = check(wanted_with(A="no"), found)
    assert "read only" in problem.hint
    assert differences(wanted_with(reset_all=True), found) == {}


def test_unreadable_values_are_not_guessed() -> None:
    found = rows(Row("A", "N/A", "N/A", "N/A"))
    assert "can be read" in check(wanted_with(A="1"), found)[0].allowed
    assert differences(wanted_with(reset_all=True), found) == {}


def test_the_switch_of_a_dependent_parameter_by_name() -> None:
    found = rows(Row("INTERNAL_CPU_MODEL", "SEPARATED_HOST(0)", "SEPARATED_HOST(0)", "SEPARATED_HOST(0)"))
    wanted = wanted_with(INTERNAL_CPU_MODEL="EMBEDDED_CPU", INTERNAL_CPU_OFFLOAD_ENGINE="DISABLED")
    assert check(wanted, found) == []
    assert plan(wanted, found).later == ("INTERNAL_CPU_OFFLOAD_ENGINE",)
    (problem,) = check(wanted_with(INTERNAL_CPU_MODEL="SEPARATED_HOST", INTERNAL_CPU_OFFLOAD_ENGINE="DISABLED"), found)
    assert "INTERNAL_CPU_MODEL=1" in problem.hint


NUMBER = st.integers(min_value=0, max_value=9)
SHAPE = st.sampled_from(["%d", "0x%x(%d)", "V%d(%d)"])
NAME = st.sampled_from(["A", "B", "C[0]", "C[1]", "D"])
WISH = st.one_of(st.none(), NUMBER.map(str), NUMBER.map(lambda number: "0x%x" % number), NUMBER.map(lambda number: "N(%d)" % number))


def shown(shape: str, number: int) -> str:
    return shape % ((number,) if shape == "%d" else (number, number))


@st.composite
def cards(draw: st.DrawFn) -> dict[str, tuple[str, Row]]:
    found = {}
    for name in ("A", "B", "C[0]", "C[1]", "D"):
        shape = draw(SHAPE)
        values = [shown(shape, draw(NUMBER)) for _state in range(3)]
        found[name] = (shape, Row(name, values[0], values[1], draw(st.sampled_from([values[2], None]))))
    return found


@given(cards(), st.dictionaries(NAME, WISH), st.booleans())
def test_an_applied_plan_leaves_none_and_the_order_does_not_matter(card: dict[str, tuple[str, Row]], settings: dict[str, str | None], reset_all: bool) -> None:
    wanted = Wanted(DEVICE, {name: Setting(value, name) for name, value in settings.items()}, reset_all)
    before = {name: row for name, (_shape, row) in card.items()}
    step = plan(wanted, before)
    turned = Wanted(DEVICE, dict(reversed(list(wanted.settings.items()))), reset_all)
    assert set(plan(turned, before).changes()) == set(step.changes())
    after = dict(before)
    for name, spelt in step.assignments.items():
        number = int(spelt, 0) if spelt[0].isdigit() else int(spelt[1:].partition("(")[0])
        after[name] = before[name]._replace(next=shown(card[name][0], number))
        assert after[name].next != before[name].next
    assert plan(wanted, after).changes() == ()
    # Untouched parameters keep their value; the differing ones are pending.
    for name, row in after.items():
        if name not in settings and not reset_all:
            assert row == before[name]
    waiting = {entry.change.aspect for entry in plan(wanted, after).pending()}
    asked = set(after) if reset_all else set(settings)
    known = {name for name in asked if after[name].current is not None}
    assert waiting == {name for name in known if after[name].current != after[name].next}
