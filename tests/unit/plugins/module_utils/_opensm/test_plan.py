# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import re
import subprocess
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import PACKAGE, Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._places import BOOTED, PACKAGED, RAN, RECORD, ROTATION, TEMPLATE
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._plan import plan, started, stopped
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import UNIT_TEXT, Instance, rotation_text
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._tools._node_names import BEGIN, END
from hypothesis import given
from hypothesis import strategies as st

INSTANCE = Instance("ib", "0x0000000000100001", 14)
SECOND = Instance("storage", "0x0000000000100003", 13, role="standby", subnet_prefix="0xfe80000000000001", partitions="Default=0x7fff : ALL=full;\n")
OTHER = Instance("old", "0x0000000000100002", 3, "/var/log/opensm.old.log")
ABSENT = Wanted(present=False)


def files_of(*instances: Instance) -> dict[str, str]:
    texts = {path: text for instance in instances for path, text in instance.files().items() if text}
    return {**texts, TEMPLATE: UNIT_TEXT, ROTATION: rotation_text(instances)}


units = st.lists(st.sampled_from(["opensm.service", "opensm@0x1.service", INSTANCE.unit, SECOND.unit, OTHER.unit]), unique=True).map(tuple)
files = st.dictionaries(st.sampled_from(sorted(files_of(INSTANCE, SECOND, OTHER))), st.sampled_from([*files_of(INSTANCE).values(), "something"]))
founds = st.builds(
    Found,
    masked=st.lists(st.sampled_from(PACKAGED), unique=True).map(tuple),
    running=units,
    replaced=st.lists(st.sampled_from([INSTANCE.unit, OTHER.unit]), unique=True).map(tuple),
    enabled=st.lists(st.sampled_from([INSTANCE.unit, OTHER.unit]), unique=True).map(tuple),
    strays=st.lists(st.integers(2, 9), unique=True).map(tuple),
    files=files,
    node_names=st.just(""),
    template=st.just(""),
    unmaskable=st.just(()),
    recorded=st.lists(st.sampled_from([*PACKAGED, PACKAGE]), unique=True).map(lambda lines: tuple(sorted(lines))),
    boots=st.lists(st.sampled_from(["opensm.service", "opensm@0x1.service"]), unique=True).map(lambda names: tuple(sorted(names))),
    installed=st.just(("opensm.service", "opensm@.service")),
)


DEFAULT = "Default=0x7fff,ipoib%s :\n    ALL=full;\n"
STORAGE = "storage=0x0001,ipoib%s :\n    ALL=full;\n"


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (DEFAULT % "", DEFAULT % ",mtu=5", [("ib/Default", "mtu", "2048", "4096")]),
        (
            DEFAULT % "" + STORAGE % ",mtu=5,rate=3",
            DEFAULT % "" + STORAGE % ",rate=16",
            [("ib/storage", "mtu", "4096", "2048"), ("ib/storage", "rate", "10", "100")],
        ),
        (DEFAULT % ",sl=1", DEFAULT % "", [("ib/Default", "sl", "1", "0")]),
        # The default rate differs between builds.
        (DEFAULT % "", DEFAULT % ",rate=3", [("ib/Default", "rate", "default", "10")]),
        # Without a file, opensm creates a group for the default partition.
        ("", DEFAULT % ",mtu=5", [("ib/Default", "mtu", "2048", "4096")]),
        (DEFAULT % ",mtu=5", "", [("ib/Default", "mtu", "4096", "2048")]),
        # A new group is created at the next sweep, and members are added.
        (DEFAULT % "", DEFAULT % "" + STORAGE % ",mtu=5", []),
        ("Default=0x7fff : ALL=full;\n", DEFAULT % ",mtu=5", []),
        (DEFAULT % "", (DEFAULT % ",mtu=4").replace("ALL", "ALL=full, SELF"), []),
    ],
)
def test_a_broadcast_group_gets_another_mtu_only_with_a_restart(before: str, after: str, changes: list[tuple[str, ...]]) -> None:
    """opensm rereads the file and keeps the existing group, and so does a standby that has been master."""
    for role in ("master", "standby"):
        old, new = (INSTANCE._replace(role=role, partitions=text) for text in (before, after))
        found = applied(Found(), planned(Found(), old))
        made = planned(found, new)
        assert [tuple(change)[1:5] for change in made.about(Kind.BROADCAST_GROUP)] == changes
        assert {change.needs for change in made.about(Kind.BROADCAST_GROUP)} <= {"restart"}
        assert [change.before for change in made.about(Kind.UNIT, "state")] == ["restart" if changes else "reload"]
        assert started(made) == ([new.unit] if changes else [])
        # It is in effect when the run ends.
        assert made.late == ()
        assert not planned(applied(found, made), new)


def test_a_manager_that_does_not_run_has_no_groups() -> None:
    old, new = (INSTANCE._replace(partitions=text) for text in (DEFAULT % "", DEFAULT % ",mtu=5"))
    found = applied(Found(), planned(Found(), old))._replace(running=())
    assert planned(found, new).about(Kind.BROADCAST_GROUP) == ()
    assert planned(Found(), new).about(Kind.BROADCAST_GROUP) == ()


def planned(found: Found, *instances: Instance, stay: t.Sequence[str] = ()) -> Plan:
    return plan(Wanted(instances), found, stay)


def applied(found: Found, plan: Plan) -> Found:
    """Return the node after a plan: a model of the applier, without a node."""
    masked, running, enabled, strays, texts = set(found.masked), set(found.running), set(found.enabled), set(found.strays), dict(found.files)
    replaced, recorded, boots = set(found.replaced), found.recorded, set(found.boots)

    def put(group: set[t.Any], item: t.Any, wanted: bool) -> None:
        group.add(item) if wanted else group.discard(item)

    for change in plan.changes:
        name = change.subject
        if change.subject == RECORD:
            recorded = tuple(line for line in change.after.splitlines() if not line.startswith("#"))
        elif change.kind == Kind.FILE:
            texts.pop(name, None)
            if change.after:
                texts[name] = change.after
        elif change.kind in (Kind.PARTITION, Kind.BROADCAST_GROUP):
            continue
        elif change.kind == Kind.PROCESS:
            strays.discard(int(name))
        elif change.aspect == "masked":
            put(masked, name, change.after == "yes")
            # Masking removes the links of a unit, and of instances of it.
            boots -= {unit for unit in boots if change.after == "yes" and packaged(unit) == name}
        elif change.aspect == "enabled":
            put(enabled if name.startswith("rdma-opensm@") else boots, name, change.after == "yes")
        else:
            put(running, name, change.after == "running")
            replaced.discard(name)
    left = tuple(sorted(replaced & running))
    names = (tuple(sorted(group)) for group in (masked, running))
    kept = {"recorded": recorded, "boots": tuple(sorted(boots)), "installed": found.installed}
    return Found(*names, left, tuple(sorted(enabled)), tuple(sorted(strays)), texts, **kept)


def packaged(unit: str) -> str:
    return "opensm@.service" if unit.startswith("opensm@") else unit


def on_record(found: Found) -> tuple[str, ...]:
    """Return the role's record once everything is masked: the previous record, the masks that were missing, and what these units did."""
    new = {*PACKAGED} - {*found.masked}
    did = {RAN + unit for unit in found.running if packaged(unit) in new} | {BOOTED + unit for unit in found.boots if packaged(unit) in new}
    return tuple(sorted({*found.recorded, *new, *did}))


def left_at_boot(found: Found) -> tuple[str, ...]:
    """Return the units of others that still start at boot: those that were masked before."""
    return tuple(unit for unit in found.boots if packaged(unit) in found.masked)


@given(founds)
def test_a_resting_host_has_nothing_left_that_could_run(found: Found) -> None:
    after = applied(found, planned(found))
    assert after == Found(masked=tuple(sorted(PACKAGED)), recorded=on_record(found), boots=left_at_boot(found), installed=found.installed)
    assert not planned(after)


@given(founds, st.sampled_from([[INSTANCE], [SECOND], [INSTANCE, SECOND]]))
def test_a_host_runs_its_instances_and_nothing_else(found: Found, instances: list[Instance]) -> None:
    after = applied(found, planned(found, *instances))
    names = tuple(sorted(instance.unit for instance in instances))
    kept = {"recorded": on_record(found), "boots": left_at_boot(found), "installed": found.installed}
    assert after == Found(tuple(sorted(PACKAGED)), names, (), names, (), files_of(*instances), **kept)
    assert not planned(after, *instances)


@given(founds)
def test_absent_takes_back_what_is_on_record_and_nothing_else(found: Found) -> None:
    after = applied(found, plan(ABSENT, found))
    foreign = tuple(sorted(unit for unit in found.running if not unit.startswith("rdma-opensm@")))
    masked = tuple(sorted(set(found.masked) - set(found.recorded)))
    assert after == Found(masked=masked, running=foreign, strays=tuple(sorted(found.strays)), boots=found.boots, installed=found.installed)
    assert not plan(ABSENT, after)


@given(founds.filter(lambda found: PACKAGE not in found.recorded), st.booleans())
def test_what_was_taken_over_is_given_back_where_it_is_wanted_and_still_installed(found: Found, restore: bool) -> None:
    """Also if other runs came in between. What was masked before the takeover stays masked, and stopped."""
    before = found._replace(recorded=(), running=tuple(unit for unit in found.running if not unit.startswith("rdma-opensm@")), masked=found.masked)
    adopted = applied(before, planned(before, INSTANCE))
    adopted = applied(adopted, planned(adopted, INSTANCE._replace(priority=3)))
    after = applied(adopted, plan(ABSENT._replace(restore=restore), adopted))
    ran = {unit for unit in before.running if packaged(unit) not in before.masked}
    assert set(after.running) == (ran if restore else set())
    assert set(after.boots) == (set(before.boots) if restore else set(left_at_boot(before)))
    assert (after.masked, after.recorded, after.enabled) == (tuple(sorted(before.masked)), (), ())
    gone = adopted._replace(installed=())
    assert applied(gone, plan(ABSENT._replace(restore=True), gone)).running == ()


def test_a_unit_is_given_back_before_its_instances_and_after_ours_has_stopped() -> None:
    recorded = ("opensm.service", "opensm@.service", "running opensm.service", "running opensm@0x1.service", "enabled opensm.service")
    found = Found(running=(INSTANCE.unit,), masked=("opensm.service", "opensm@.service"), recorded=recorded, installed=("opensm.service", "opensm@.service"))
    made = plan(ABSENT._replace(restore=True), found)
    assert [(change.subject, change.aspect, change.after) for change in made.about(Kind.UNIT)] == [
        (INSTANCE.unit, "state", "stopped"),
        ("opensm.service", "masked", "no"),
        ("opensm@.service", "masked", "no"),
        ("opensm.service", "enabled", "yes"),
        ("opensm.service", "state", "running"),
        ("opensm@0x1.service", "state", "running"),
    ]
    # Where the role installed the package, no unit of it was there before.
    assert started(plan(ABSENT._replace(restore=True), found._replace(recorded=(*recorded, PACKAGE)))) == []


@given(founds, st.sampled_from(["", '0x0000000000000009 "mine"\n', BEGIN + END, BEGIN]))
def test_less_tells_whether_a_resting_host_has_anything_to_do(found: Found, names: str) -> None:
    found = found._replace(node_names=names, template="secret", files=dict.fromkeys(found.files, "sm_key 0xsecret\n"))
    for wanted in (Wanted(), ABSENT):
        assert bool(plan(wanted, found.public())) == bool(plan(wanted, found))
    # The generated texts of predecessors may contain any word.
    assert "secret" not in str(found._replace(predecessors=()).public())


@given(founds)
def test_no_change_without_a_difference(found: Found) -> None:
    for each in (planned(found), plan(ABSENT, found), planned(found, INSTANCE, SECOND)):
        assert all(change.before != change.after for change in each.changes)


@given(founds)
def test_what_stays_is_not_touched(found: Found) -> None:
    for stop in stopped(planned(found, INSTANCE)):
        stay = stop.subject
        after = applied(found, planned(found, INSTANCE, stay=[stay]))
        if stop.kind == Kind.PROCESS:
            assert int(stay) in after.strays
            continue
        assert stay in after.running
        assert (stay in after.enabled) == (stay in found.enabled)
        if stay == OTHER.unit:
            assert all(after.files.get(path) == found.files.get(path) for path in OTHER.files())
        if stay == "opensm@0x1.service":
            assert ("opensm@.service" in after.masked) == ("opensm@.service" in found.masked)


@given(founds)
def test_others_stop_before_ours_starts(found: Found) -> None:
    afters = [change.after for change in planned(found, INSTANCE, SECOND).changes if change.kind in (Kind.UNIT, Kind.PROCESS)]
    if "running" in afters:
        assert "stopped" not in afters[afters.index("running") :]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"priority": 5}, "reload"),
        ({"partitions": "Default=0x7fff : ALL=full;"}, "reload"),
        ({"options": {"routing_engine": "ftree"}}, "restart"),
        ({"log_file": "/var/log/sm.log"}, "restart"),
        ({"subnet_prefix": "0xfe80000000000001", "priority": 5}, "restart"),
        ({"root_guids": "0x1\n"}, "restart"),
    ],
)
def test_what_a_change_of_the_files_takes(change: dict[str, t.Any], state: str) -> None:
    found = applied(Found(), planned(Found(), INSTANCE))
    new = planned(found, INSTANCE._replace(**change))
    service = [each for each in new.changes if each.is_about(Kind.UNIT, INSTANCE.unit, "state")]
    assert [each.before for each in service] == ([state] if state else [])
    assert new
    assert started(new) == ([INSTANCE.unit] if state == "restart" else [])


def test_states_in_words() -> None:
    found = Found(running=(INSTANCE.unit,), enabled=(INSTANCE.unit,), strays=(7,), files=files_of(INSTANCE))
    plans = [planned(found, INSTANCE._replace(priority=5)), planned(found, INSTANCE._replace(log_file="/var/log/sm.log"))]
    assert [plan.changes[-1].words() for plan in plans] == [
        "service rdma-opensm@ib.service: running, files to be read again -> running",
        "service rdma-opensm@ib.service: running with other settings -> running",
    ]
    assert "process opensm 7: running -> stopped" in [change.words() for change in plans[0].changes]


def test_a_new_unit_file_restarts() -> None:
    found = applied(Found(), planned(Found(), INSTANCE))
    new = planned(found._replace(files={**found.files, TEMPLATE: "old"}), INSTANCE)
    assert started(new) == [INSTANCE.unit]


def test_a_program_that_was_replaced_restarts() -> None:
    found = applied(Found(), planned(Found(), INSTANCE))._replace(replaced=(INSTANCE.unit,))
    for instance in (INSTANCE, INSTANCE._replace(priority=5)):
        new = planned(found, instance)
        assert new.changes[-1].words() == "service rdma-opensm@ib.service: running a program that was replaced -> running"
        assert started(new) == [INSTANCE.unit]
    assert not planned(applied(found, planned(found, INSTANCE)), INSTANCE)


def test_a_fresh_node() -> None:
    assert [change.words() for change in planned(Found(), INSTANCE).changes] == [
        "create file /etc/rdma-ofed/opensm/record",
        "service opensm.service masked: no -> yes",
        "service opensmd.service masked: no -> yes",
        "service opensm@.service masked: no -> yes",
        "create file /etc/logrotate.d/rdma-opensm",
        "create file /etc/rdma-ofed/opensm/ib/opensm.conf",
        "create file /etc/systemd/system/rdma-opensm@.service",
        "service rdma-opensm@ib.service enabled: no -> yes",
        "service rdma-opensm@ib.service: stopped -> running",
    ]


def test_the_unit_is_one_that_systemd_can_watch() -> None:
    assert "Type=simple" in UNIT_TEXT and "Restart=always" in UNIT_TEXT
    assert "pidfile" not in UNIT_TEXT and " -B" not in UNIT_TEXT
    # No process remains between systemd and opensm, and an opensm that keeps exiting is not restarted forever.
    assert "exec /usr/sbin/opensm --config /etc/rdma-ofed/opensm/%i/opensm.conf" in UNIT_TEXT
    seconds = {name: int(re.search(r"^%s=(\d+)$" % name, UNIT_TEXT, re.MULTILINE)[1]) for name in ("StartLimitBurst", "StartLimitIntervalSec", "RestartSec")}
    assert seconds["StartLimitIntervalSec"] > 10 * seconds["StartLimitBurst"] * seconds["RestartSec"] > 0
    assert INSTANCE.path("opensm.conf") == "/etc/rdma-ofed/opensm/ib/opensm.conf"
    # The installed driver is loaded before opensm opens it.
    (after,) = [line.split("=")[1].split() for line in UNIT_TEXT.splitlines() if line.startswith("After=")]
    assert {"openibd.service", "rdma-load-modules@rdma.service", "rdma-load-modules@infiniband.service"} < set(after)


def test_the_package_stays_on_record_until_it_is_removed() -> None:
    found = Found(recorded=(PACKAGE, "opensm.service"), masked=("opensm.service",))
    (record,) = plan(ABSENT._replace(package_installed=True), found).about(Kind.FILE)
    assert (record.subject, record.after.splitlines()[-1]) == (RECORD, PACKAGE)
    assert not plan(ABSENT._replace(package_installed=True), Found(recorded=(PACKAGE,)))
    (record,) = plan(ABSENT, Found(recorded=(PACKAGE,))).about(Kind.FILE)
    assert record.after == ""
    # What is not on record existed before.
    assert not plan(ABSENT._replace(package_installed=True), Found())


def tasks(name: str) -> list[dict[str, t.Any]]:
    text = (pathlib.Path(__file__).resolve().parents[5] / "roles/opensm/tasks" / name).read_text()
    return t.cast("list[dict[str, t.Any]]", yaml.safe_load(text))


def test_the_role_is_on_record_for_the_package_of_opensm_alone_until_that_is_removed() -> None:
    (managing,) = tasks("manage.yml")
    assert "'opensm' in __opensm_packages.missing_purposes" in managing["rdma.ofed.opensm"]["package_installed"], "the diagnostics do not count"
    (stopping,) = tasks("take_back.yml")
    assert stopping["rdma.ofed.opensm"]["package_installed"] is True
    removal, forgetting = tasks("absent.yml")[-2:]
    assert removal["rdma.ofed.packages"]["state"] == "absent" and removal["when"] == forgetting["when"] == "opensm_outcome.package_recorded"
    assert forgetting["ansible.builtin.file"] == {"path": RECORD, "state": "absent"}


def test_the_unit_waits_for_its_own_port(tmp_path: pathlib.Path) -> None:
    (line,) = re.findall(r"ExecStart=/bin/sh -c '(.*?)'\n", UNIT_TEXT, re.DOTALL)
    script = line.replace("\\\n", "\n").replace("$$", "$").replace("%i", "ib").replace("sleep 2", "exit 9")
    script = script.replace("/sys/class", str(tmp_path)).replace("/etc/", "%s/etc/" % tmp_path).replace("exec /usr/sbin/opensm", "exec echo")

    def start() -> int:
        return subprocess.run(["sh", "-c", script], check=False, capture_output=True).returncode

    files = {INSTANCE.path("opensm.conf")[1:]: "guid 0x00000000001000ab\nsm_priority 14\n"}
    umads = {"umad0": ("mlx5_0", "fe80:0000:0000:0000:0000:0000:0010:0009"), "umad1": ("mlx5_1", "fe80:0000:0000:0000:0000:0000:0010:00AB")}
    for name, (device, gid) in umads.items():
        files.update({"infiniband/%s/ports/1/gids/0" % device: gid + "\n"})
        files.update({"infiniband_mad/%s/ibdev" % name: device + "\n", "infiniband_mad/%s/port" % name: "1\n"})
    for path, text in files.items():
        if not path.startswith("infiniband_mad/"):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
    assert start() == 9
    # The device of another port comes first.
    for name in umads:
        (tmp_path / "infiniband_mad" / name).mkdir(parents=True)
        for file in ("ibdev", "port"):
            (tmp_path / "infiniband_mad" / name / file).write_text(files["infiniband_mad/%s/%s" % (name, file)])
        assert start() == (9 if name == "umad0" else 0)


def test_names_of_nodes_need_nothing_and_are_taken_out_again() -> None:
    wanted = Wanted((INSTANCE,), ({"node1": {}, "node2": None}, {"0x0000000000000001": "leaf 1"}))
    fresh = plan(wanted, Found())
    assert fresh.changes[-3].words() == "create file /etc/rdma/ib-node-name-map"
    named = '0x0000000000000009 "mine"\n' + fresh.changes[-3].after
    found = applied(Found(), planned(Found(), INSTANCE))._replace(node_names=named)
    assert not plan(wanted, found)
    assert not planned(found, INSTANCE)
    (change,) = [change for change in planned(found).changes if "name-map" in change.subject]
    assert change.after == '0x0000000000000009 "mine"\n'
