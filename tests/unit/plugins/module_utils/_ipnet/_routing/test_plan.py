# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Routes of sources: the unit, what the kernel has, and what is taken back."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import ENABLED, STATE, Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._routing._found import SCRIPT_PATH, SERVICE, UNIT_PATH, Routing
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._routing._plan import changes, lacks, refusals
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._routing._unit import render
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._routing._wanted import Source, sources_of
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, changes_of
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ip import RuleRow
from hypothesis import given
from hypothesis import strategies as st

SOURCES = sources_of(("ib0", "ib1"), {"ib0": ["10.20.0.1/16"], "ib1": ["10.20.1.1/16", "fd00::1/64", "10.9.9.9/32"]})
ADDRESSES = frozenset((source.name, source.address) for source in SOURCES)
FRESH = Routing(True, systemctl=True, systemd=True, addresses=ADDRESSES)


def after(found: Routing, todo: t.Iterable[Change], sources: t.Sequence[Source]) -> Routing:
    """Return the state after changes, as systemd and the unit make them."""
    for change in todo:
        if change.kind == Kind.FILE:
            found = found._replace(**{{SCRIPT_PATH: "script", UNIT_PATH: "unit_text"}[change.subject]: change.after})
            if change.subject == UNIT_PATH and change.before and change.after:
                found = found._replace(unit=found.unit._replace(active="inactive"), rules=(), routes={})
        elif change.aspect == ENABLED:
            found = found._replace(unit=found.unit._replace(enabled="enabled" if change.after == "yes" else "disabled"))
        elif change.after == "running":
            there = [source for source in sources if (source.name, source.address) in found.addresses]
            rules = tuple(RuleRow(source.table, source.address, source.table) for source in there)
            routes = {source.table: frozenset([(source.network, source.name)]) for source in there}
            found = found._replace(unit=found.unit._replace(active="active"), rules=rules, routes=routes)
        else:
            found = found._replace(unit=found.unit._replace(active="inactive"), rules=(), routes={})
    return found


def plan(sources: t.Sequence[Source], found: Routing) -> tuple[Change, ...]:
    return changes_of(*changes(sources, found))


def test_each_interface_has_a_table() -> None:
    assert (Source(30700, "ib0", "10.20.0.1", "10.20.0.0/16"), Source(30701, "ib1", "10.20.1.1", "10.20.0.0/16")) == SOURCES
    unit = render(SOURCES)[UNIT_PATH]
    assert "ExecStart=%s follow 30700 ib0 10.20.0.1 10.20.0.0/16 30701 ib1 10.20.1.1 10.20.0.0/16\n" % SCRIPT_PATH in unit


def test_it_is_set_up_and_taken_back() -> None:
    todo = plan(SOURCES, FRESH)
    assert [(change.kind, change.subject, change.aspect) for change in todo] == [
        (Kind.FILE, SCRIPT_PATH, ""),
        (Kind.FILE, UNIT_PATH, ""),
        (Kind.UNIT, SERVICE, ENABLED),
        (Kind.UNIT, SERVICE, STATE),
    ]
    done = after(FRESH, todo, SOURCES)
    assert plan(SOURCES, done) == ()
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
    done = after(FRESH, plan(SOURCES, FRESH), SOURCES)
    (change,) = plan(SOURCES, done._replace(**broken))
    assert (change.aspect, change.before, change.after) == (STATE, "restart", "running")


def test_an_interface_that_is_down_lacks_nothing() -> None:
    done = after(FRESH, plan(SOURCES, FRESH), SOURCES)._replace(rules=(), routes={}, addresses=frozenset())
    assert lacks(SOURCES, done) == [] and plan(SOURCES, done) == ()


def test_in_an_image_the_files_alone_are_written() -> None:
    image = Routing(True, systemctl=True)
    todo = plan(SOURCES, image)
    assert [change.aspect for change in todo] == ["", "", ENABLED]
    assert plan(SOURCES, after(image, todo, SOURCES)) == ()


def test_what_others_have_stays() -> None:
    foreign = FRESH._replace(unit_text="[Service]\nExecStart=/bin/true\n")
    (refused,) = refusals(SOURCES, foreign)
    assert refused.startswith(UNIT_PATH + " exists and is not the collection's")
    assert refusals((), foreign) == [] and plan((), foreign) == ()
    rule = FRESH._replace(rules=(RuleRow(30701, "", 0), RuleRow(30750, "", 0)))
    (refused,) = refusals(SOURCES, rule)
    assert refused.startswith("the kernel has a rule of others with the priority 30701, from all: ")
    assert refusals(SOURCES, FRESH) == []
    assert "needs systemd" in refusals(SOURCES, Routing(True))[0]


SOME = st.sampled_from([(), SOURCES, SOURCES[:1]])


@given(SOME, SOME, st.sampled_from([ADDRESSES, frozenset()]), st.booleans())
def test_an_applied_plan_leaves_nothing_to_do(
    before: tuple[Source, ...], sources: tuple[Source, ...], addresses: frozenset[tuple[str, str]], systemd: bool
) -> None:
    fresh = Routing(True, systemctl=True, systemd=systemd, addresses=addresses)
    found = after(fresh, plan(before, fresh), before)
    todo = plan(sources, found)
    done = after(found, todo, sources)
    assert plan(sources, done) == ()
    # A run that ended between two changes is completed.
    for number in range(len(todo)):
        broken = after(found, todo[:number], sources)
        assert after(broken, plan(sources, broken), sources) == done
