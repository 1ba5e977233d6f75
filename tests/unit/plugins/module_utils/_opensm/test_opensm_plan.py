# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._plan import plan_absent, plan_designated, plan_resting, starts
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import PACKAGED, TEMPLATE, UNIT_TEXT, Instance
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Plan
from hypothesis import given
from hypothesis import strategies as st

INSTANCE = Instance("ib", "0x0000000000100001", 14, "/var/log/opensm.ib.log")
OTHER = Instance("old", "0x0000000000100002", 3, "/var/log/opensm.old.log")

units = st.lists(st.sampled_from(["opensm.service", "opensm@0x1.service", INSTANCE.unit, OTHER.unit]), unique=True).map(tuple)
files = st.dictionaries(st.sampled_from([TEMPLATE, INSTANCE.settings, OTHER.settings]), st.sampled_from([UNIT_TEXT, INSTANCE.settings_text(), "something"]))
founds = st.builds(
    Found,
    masked=st.lists(st.sampled_from(PACKAGED), unique=True).map(tuple),
    running=units,
    replaced=st.lists(st.sampled_from([INSTANCE.unit, OTHER.unit]), unique=True).map(tuple),
    enabled=st.lists(st.sampled_from([INSTANCE.unit, OTHER.unit]), unique=True).map(tuple),
    strays=st.lists(st.integers(2, 9), unique=True).map(tuple),
    files=files,
)


def applied(found: Found, plan: Plan) -> Found:
    """The node after a plan, in the model: what the applier does, without a node."""
    masked, running, enabled, strays, texts = set(found.masked), set(found.running), set(found.enabled), set(found.strays), dict(found.files)
    replaced = set(found.replaced)

    def put(group: set[t.Any], item: t.Any, wanted: bool) -> None:
        group.add(item) if wanted else group.discard(item)

    for change in plan.changes:
        kind, name = change.what.split(" ", 1)
        if kind == "file":
            texts.pop(name, None)
            if change.after:
                texts[name] = change.after
        elif kind == "process":
            strays.discard(int(name.split()[-1]))
        elif name.endswith(" masked"):
            put(masked, name.split()[0], change.after == "yes")
        elif name.endswith(" enabled"):
            put(enabled, name.split()[0], change.after == "yes")
        else:
            put(running, name, change.after == "running")
            replaced.discard(name)
    left = tuple(sorted(replaced & running))
    return Found(tuple(sorted(masked)), tuple(sorted(running)), left, tuple(sorted(enabled)), tuple(sorted(strays)), texts)


@given(founds)
def test_a_resting_host_has_nothing_left_that_could_run(found: Found) -> None:
    after = applied(found, plan_resting(found))
    assert after == Found(masked=tuple(sorted(PACKAGED)))
    assert not plan_resting(after)


@given(founds)
def test_a_designated_host_runs_its_instance_and_nothing_else(found: Found) -> None:
    after = applied(found, plan_designated(found, INSTANCE))
    wanted_files = {TEMPLATE: UNIT_TEXT, INSTANCE.settings: INSTANCE.settings_text()}
    assert after == Found(tuple(sorted(PACKAGED)), (INSTANCE.unit,), (), (INSTANCE.unit,), (), wanted_files)
    assert not plan_designated(after, INSTANCE)


@given(founds)
def test_absent_leaves_nothing(found: Found) -> None:
    after = applied(found, plan_absent(found))
    assert after == Found()
    assert not plan_absent(after)


@given(founds)
def test_no_change_without_a_difference(found: Found) -> None:
    for plan in (plan_resting(found), plan_absent(found), plan_designated(found, INSTANCE)):
        assert all(change.before != change.after for change in plan.changes)


@given(founds)
def test_others_stop_before_ours_starts(found: Found) -> None:
    afters = [change.after for change in plan_designated(found, INSTANCE).changes if change.what.startswith(("service", "process"))]
    if "running" in afters:
        assert "stopped" not in afters[afters.index("running") :]


def test_new_settings_restart() -> None:
    found = applied(Found(), plan_designated(Found(), INSTANCE))
    plan = plan_designated(found, INSTANCE._replace(priority=5))
    assert [change.words() for change in plan.changes] == [
        "edit file /etc/rdma-ofed/opensm-ib.env",
        "service rdma-opensm@ib.service: running with other settings -> running",
    ]
    assert starts(plan)
    assert not starts(plan_resting(found))


def test_a_program_that_was_replaced_restarts() -> None:
    found = applied(Found(), plan_designated(Found(), INSTANCE))._replace(replaced=(INSTANCE.unit,))
    plan = plan_designated(found, INSTANCE)
    assert [change.words() for change in plan.changes] == ["service rdma-opensm@ib.service: running a program that was replaced -> running"]
    assert starts(plan)
    assert not plan_designated(applied(found, plan), INSTANCE)


def test_a_fresh_node() -> None:
    assert [change.words() for change in plan_designated(Found(), INSTANCE).changes] == [
        "service opensm.service masked: no -> yes",
        "service opensmd.service masked: no -> yes",
        "service opensm@.service masked: no -> yes",
        "create file /etc/systemd/system/rdma-opensm@.service",
        "create file /etc/rdma-ofed/opensm-ib.env",
        "service rdma-opensm@ib.service enabled: no -> yes",
        "service rdma-opensm@ib.service: stopped -> running",
    ]


def test_the_unit_is_one_that_systemd_can_watch() -> None:
    assert "Type=simple" in UNIT_TEXT and "Restart=always" in UNIT_TEXT
    assert "pidfile" not in UNIT_TEXT and " -B" not in UNIT_TEXT
    assert INSTANCE.settings_text().endswith('OPENSM_ARGUMENTS="--guid 0x0000000000100001 --priority 14 --log_file /var/log/opensm.ib.log --log_limit 128"\n')
