# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Routes of rails: the unit, what the kernel has, and what is taken back."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import ENABLED, STATE, Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._rails._found import SCRIPT_PATH, SERVICE, UNIT_PATH, Rails
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._rails._plan import changes, lacks, refusals
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._rails._unit import render
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._rails._wanted import Rail, rails_of
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, changes_of
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ip import RuleRow
from hypothesis import given
from hypothesis import strategies as st

RAILS = rails_of(("ib0", "ib1"), {"ib0": ["10.20.0.1/16"], "ib1": ["10.20.1.1/16", "fd00::1/64", "10.9.9.9/32"]})
ADDRESSES = frozenset((rail.name, rail.address) for rail in RAILS)
FRESH = Rails(True, systemctl=True, systemd=True, addresses=ADDRESSES)


def after(found: Rails, todo: t.Iterable[Change], rails: t.Sequence[Rail]) -> Rails:
    """Return the state after changes, as systemd and the unit make them."""
    for change in todo:
        if change.kind == Kind.FILE:
            found = found._replace(**{{SCRIPT_PATH: "script", UNIT_PATH: "unit_text"}[change.subject]: change.after})
            if change.subject == UNIT_PATH and change.before and change.after:
                found = found._replace(unit=found.unit._replace(active="inactive"), rules=(), routes={})
        elif change.aspect == ENABLED:
            found = found._replace(unit=found.unit._replace(enabled="enabled" if change.after == "yes" else "disabled"))
        elif change.after == "running":
            there = [rail for rail in rails if (rail.name, rail.address) in found.addresses]
            rules = tuple(RuleRow(rail.table, rail.address, rail.table) for rail in there)
            routes = {rail.table: frozenset([(rail.network, rail.name)]) for rail in there}
            found = found._replace(unit=found.unit._replace(active="active"), rules=rules, routes=routes)
        else:
            found = found._replace(unit=found.unit._replace(active="inactive"), rules=(), routes={})
    return found


def plan(rails: t.Sequence[Rail], found: Rails) -> tuple[Change, ...]:
    return changes_of(*changes(rails, found))


def test_each_interface_has_a_table() -> None:
    assert (Rail(30700, "ib0", "10.20.0.1", "10.20.0.0/16"), Rail(30701, "ib1", "10.20.1.1", "10.20.0.0/16")) == RAILS
    unit = render(RAILS)[UNIT_PATH]
    assert "ExecStart=%s follow 30700 ib0 10.20.0.1 10.20.0.0/16 30701 ib1 10.20.1.1 10.20.0.0/16\n" % SCRIPT_PATH in unit


def test_it_is_set_up_and_taken_back() -> None:
    todo = plan(RAILS, FRESH)
    assert [(change.kind, change.subject, change.aspect) for change in todo] == [
        (Kind.FILE, SCRIPT_PATH, ""),
        (Kind.FILE, UNIT_PATH, ""),
        (Kind.UNIT, SERVICE, ENABLED),
        (Kind.UNIT, SERVICE, STATE),
    ]
    done = after(FRESH, todo, RAILS)
    assert plan(RAILS, done) == ()
    back = plan((), done)
    # While the files exist, the unit takes its rules back.
    assert [change.aspect for change in back] == [STATE, ENABLED, "", ""]
    gone = after(done, back, ())
    assert gone == FRESH._replace(unit=Unit(SERVICE, active="inactive", enabled="disabled"))
    assert plan((), gone) == ()


@pytest.mark.parametrize(
    "broken", [{"rules": ()}, {"routes": {}}, {"routes": {30700: frozenset([("10.20.0.0/16", "ib1")]), 30701: frozenset([("10.20.0.0/16", "ib1")])}}]
)
def test_the_kernel_is_asked(broken: dict[str, t.Any]) -> None:
    done = after(FRESH, plan(RAILS, FRESH), RAILS)
    (change,) = plan(RAILS, done._replace(**broken))
    assert (change.aspect, change.before, change.after) == (STATE, "restart", "running")


def test_an_interface_that_is_down_lacks_nothing() -> None:
    done = after(FRESH, plan(RAILS, FRESH), RAILS)._replace(rules=(), routes={}, addresses=frozenset())
    assert lacks(RAILS, done) == [] and plan(RAILS, done) == ()


def test_in_an_image_the_files_alone_are_written() -> None:
    image = Rails(True, systemctl=True)
    todo = plan(RAILS, image)
    assert [change.aspect for change in todo] == ["", "", ENABLED]
    assert plan(RAILS, after(image, todo, RAILS)) == ()


def test_what_others_have_stays() -> None:
    foreign = FRESH._replace(unit_text="[Service]\nExecStart=/bin/true\n")
    (refused,) = refusals(RAILS, foreign)
    assert refused.startswith(UNIT_PATH + " exists and is not the collection's")
    assert refusals((), foreign) == [] and plan((), foreign) == ()
    rule = FRESH._replace(rules=(RuleRow(30701, "", 0), RuleRow(30750, "", 0)))
    (refused,) = refusals(RAILS, rule)
    assert refused.startswith("the kernel has a rule of others with the priority 30701, from all: ")
    assert refusals(RAILS, FRESH) == []
    assert "needs systemd" in refusals(RAILS, Rails(True))[0]


SOME = st.sampled_from([(), RAILS, RAILS[:1]])


@given(SOME, SOME, st.sampled_from([ADDRESSES, frozenset()]), st.booleans())
def test_an_applied_plan_leaves_nothing_to_do(before: tuple[Rail, ...], rails: tuple[Rail, ...], addresses: frozenset[tuple[str, str]], systemd: bool) -> None:
    fresh = Rails(True, systemctl=True, systemd=systemd, addresses=addresses)
    found = after(fresh, plan(before, fresh), before)
    todo = plan(rails, found)
    done = after(found, todo, rails)
    assert plan(rails, done) == ()
    # A run that ended between two changes is completed.
    for number in range(len(todo)):
        broken = after(found, todo[:number], rails)
        assert after(broken, plan(rails, broken), rails) == done
