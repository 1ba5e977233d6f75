# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._cmdline import UNKNOWN, keys_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._concern import foreseen
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found, Predecessor
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._master import Known
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._file import parse_partitions
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import Inventory, outline, render
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._places import SETTINGS
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._plan import plan, require_consent
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._predecessor import fit, inherit
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind

GUID = "0x0000000000100001"
INSTANCE = Instance("ib", GUID, 14)
# As an administrator writes them.
PARTITIONS = """\
# all of them
Default=0x7fff, ipoib, mtu=4, rate=3 : ALL=full;
storage=0x8001, ipoib, mtu=5 :
    0x0000000000100001=full,   # nas
    ALL=limited;
"""
CONF = """\
# hand-made
routing_engine updn
max_wire_smps 16
sweep_interval 10
sm_priority 3
qos TRUE
sm_key 0xc0ffee
"""
TEMPLATE = """\
routing_engine (null)
max_wire_smps 4
sweep_interval 10
qos FALSE
sm_key 0x0000000000000001
partition_config_file /etc/opensm/partitions.conf
"""
PREDECESSOR = Predecessor(
    "process 7, /etc/opensm/opensm.conf",
    {"routing_engine": ("updn",), "max_wire_smps": ("16",), "sm_key": ("12648430",), "sm_priority": ("3",)},
    PARTITIONS,
    "/etc/opensm/partitions.conf",
)


def put(root: pathlib.Path, path: str, text: str) -> None:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


class Opensm:
    """An installed opensm, which generates its template."""

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        assert argv[:4] == ["opensm", "-F", "/dev/null", "-c"]
        pathlib.Path(argv[-1]).write_text(TEMPLATE)
        return Output(0, "", "")


def process(root: pathlib.Path, pid: int, *arguments: str) -> None:
    put(root, "/proc/%d/comm" % pid, "opensm\n")
    put(root, "/proc/%d/cgroup" % pid, "0::/user.slice\n")
    put(root, "/proc/%d/cmdline" % pid, "\0".join(["/usr/sbin/opensm", *arguments]) + "\0")
    (root / "proc" / str(pid) / "ns").mkdir()
    (root / "proc" / str(pid) / "ns" / "pid").symlink_to("pid:[1]")
    (root / "proc" / str(pid) / "cwd").symlink_to("/opt/sm")


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[1]")
    return tmp_path


def names(refused: Refused) -> list[str]:
    return [entry["name"] for entry in refused.details["undeclared"]]


def refused_of(wanted: Wanted, found: Found) -> Refused:
    with pytest.raises(Refused) as caught:
        inherit(wanted, found)
    return caught.value


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (
            "-g 0x1 -p 3 -R updn,minhop -P /etc/p.conf",
            {"guid": "0x1", "sm_priority": "3", "routing_engine": "updn,minhop", "partition_config_file": "/etc/p.conf"},
        ),
        ("--guid 0x1 --log_file /var/log/x", {"guid": "0x1", "log_file": "/var/log/x"}),
        ("-F /x.conf -QB", {"config": "/x.conf", "qos": "TRUE"}),
        ("--subnet_prefix=0xfe80000000000001 -W -N", {"subnet_prefix": "0xfe80000000000001", "allow_both_pkeys": "TRUE", "part_enforce": "off"}),
        ("-o -e", {"accum_log_file": "FALSE"}),
        ("--ufm-special 1", {UNKNOWN: "--ufm-special 1"}),
    ],
)
def test_arguments_are_keys(arguments: str, keys: dict[str, str]) -> None:
    assert keys_of(arguments.split()) == keys


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("--ufm 1 --smkey 0xc0ffee", "--ufm 1 --smkey (hidden)"),
        ("--ufm --smk=0xc0ffee", "--ufm --smk=(hidden)"),
        ("--ufm --cc_key 0xc0ffee -g 0x1", "--ufm --cc_key (hidden) -g 0x1"),
        ("--ufm -k 0xc0ffee", "--ufm -k (hidden)"),
        ("--ufm -Bk0xc0ffee", "--ufm -Bk(hidden)"),
        ("--ufm_password=0xc0ffee --mkey 0xc0ffee", "--ufm_password=(hidden) --mkey (hidden)"),
        ("-B 0xc0ffee", "(hidden)"),
    ],
)
def test_an_unknown_command_line_shows_no_secret(arguments: str, shown: str) -> None:
    assert keys_of(arguments.split()) == {UNKNOWN: shown}


def test_a_secret_under_an_unknown_name_is_not_shown() -> None:
    found = Found(predecessors=(Predecessor("x", {"smkey": ("12648430",), "vendor_token": ("12648430",), "m_key_lookup": ("FALSE",)}),))
    refused = refused_of(Wanted((INSTANCE,)), found)
    assert names(refused) == ["smkey", "vendor_token", "m_key_lookup"] and "m_key_lookup: FALSE" in refused.msg
    assert "12648430" not in str((refused.msg, refused.details, found.public()))
    (problem, _other) = problems({"smkey": "12648430", "sm_keyy": "12648430"}, {})
    assert "12648430" not in str((problem, _other))


def test_partitions_of_others() -> None:
    default, storage = parse_partitions(PARTITIONS)
    assert default.open and not default.special
    assert (storage.name, storage.pkey, storage.special) == ("storage", 1, {"mtu": "5"})
    assert storage.members == {GUID: "full", "ALL": "limited"}
    assert [rule.text for rule in parse_partitions(storage.text)] == [storage.text]


def test_groups_that_packages_list_are_no_settings() -> None:
    packaged = "Default=0x7fff, rate=3, mtu=4, scope=2, defmember=full:\n\tALL, ALL_SWITCHES=full;\nDefault=0x7fff, ipoib, rate=3, mtu=4, scope=2:\n"
    packaged += "\tmgid=ff12:401b::ffff:ffff\t# IPv4 Broadcast address\n\tmgid=ff12:401b::1\n\tALL=full, ALL_SWITCHES=full;\n"
    (rule,) = parse_partitions(packaged)
    assert rule.open and not rule.special
    assert inherit(Wanted((INSTANCE,)), Found(predecessors=(Predecessor("x", {}, packaged),))).instances == (INSTANCE,)


@pytest.mark.parametrize("arguments", [("-F", "/etc/opensm/opensm.conf"), (), ("-F", "../../etc/opensm/opensm.conf", "-B")])
def test_what_runs_is_read_with_its_files(root: pathlib.Path, arguments: tuple[str, ...]) -> None:
    put(root, "/etc/opensm/opensm.conf", CONF)
    put(root, "/etc/opensm/partitions.conf", PARTITIONS)
    process(root, 7, *arguments)
    (found,) = look(Opensm(), str(root)).predecessors
    assert found.keys == {"routing_engine": ("updn",), "max_wire_smps": ("16",), "sm_priority": ("3",), "qos": ("TRUE",), "sm_key": ("12648430",)}
    assert found.partitions == PARTITIONS
    assert found.runs


def test_arguments_win_over_the_file(root: pathlib.Path) -> None:
    put(root, "/etc/opensm/opensm.conf", CONF)
    put(root, "/opt/sm/mine.conf", PARTITIONS)
    process(root, 7, "-R", "ftree", "-P", "mine.conf", "--guid", "0x100001")
    (found,) = look(Opensm(), str(root)).predecessors
    assert (found.keys["routing_engine"], found.partitions, found.guid) == (("ftree",), PARTITIONS, GUID)


def test_files_of_one_that_does_not_run_count_until_ours_has_run(root: pathlib.Path) -> None:
    put(root, "/etc/opensm/opensm.conf", CONF)
    (found,) = look(Opensm(), str(root)).predecessors
    assert (found.runs, found.keys["routing_engine"]) == (False, ("updn",))
    put(root, SETTINGS + "/ib/opensm.conf", "guid 0x1\n")
    assert look(Opensm(), str(root)).predecessors == ()


def test_the_public_part_has_no_secrets(root: pathlib.Path) -> None:
    put(root, "/etc/opensm/opensm.conf", CONF)
    process(root, 7)
    found = look(Opensm(), str(root), public=True)
    assert "12648430" not in str(found) and "c0ffee" not in str(found)
    assert "sm_key" in found.predecessors[0].keys


@pytest.mark.parametrize("instances", [(INSTANCE,), ()], ids=["designated", "resting"])
def test_what_is_not_declared_is_named_and_refused(instances: tuple[Instance, ...]) -> None:
    refused = refused_of(Wanted(instances), Found(predecessors=(PREDECESSOR,)))
    assert names(refused) == ["routing_engine", "max_wire_smps", "sm_key", "partition storage"]
    for word in (
        "updn",
        "/etc/opensm/opensm.conf",
        "opensm_routing_engine",
        "opensm_options.max_wire_smps",
        "0x0001, mtu=5, 2 members",
        "opensm_give_up: [",
    ):
        assert word in refused.msg
    assert "12648430" not in refused.msg + str(refused.details)
    assert ("opensm_adopt: true" in refused.msg) == bool(instances)


DECLARED = "Default=0x7fff,ipoib : ALL=full;\nstorage=0x0001,ipoib,mtu=4 : ALL=full;\n"


@pytest.mark.parametrize("instances", [(INSTANCE._replace(partitions=DECLARED),), ()], ids=["designated", "resting"])
def test_what_is_declared_or_given_up_is_not(instances: tuple[Instance, ...]) -> None:
    wanted = Wanted(
        instances,
        declared=frozenset(["routing_engine", "sm_key"]),
        partitions=DECLARED,
        give_up=frozenset(["max_wire_smps", "partition 0xffff"]),
    )
    assert inherit(wanted, Found(predecessors=(PREDECESSOR,))) == wanted


def test_a_flag_of_a_declared_partition_is_named() -> None:
    instance = INSTANCE._replace(partitions="Default=0x7fff,ipoib :\n    ALL=full;\nstorage=0x0001,ipoib : ALL=full;\n")
    wanted = Wanted((instance,), declared=frozenset(PREDECESSOR.keys))
    found = Found(predecessors=(PREDECESSOR,))
    assert names(refused_of(wanted, found)) == ["partition storage mtu"]
    assert inherit(wanted._replace(give_up=frozenset(["partition storage mtu"])), found).instances == (instance,)


ENTRIES = [{"name": "Default", "pkey": "0x7fff", "members": [{"keyword": "ALL"}]}, {"name": "storage", "pkey": "0x8001", "members": [{"keyword": "ALL"}]}]
BY_HAND = "Default=0x7fff, ipoib : ALL=full;\nstorage=0x8001, ipoib : ALL=full;\n"


def lost_partitions(before: str, entries: list[dict[str, t.Any]], **more: t.Any) -> list[str]:
    """Return the names of what a file would lose, which are the same in the module and in the look."""
    found = Found(predecessors=(Predecessor("x", {}, before, "/etc/opensm/partitions.conf"),))
    text = render(entries, Inventory({}))
    outlined = {"keys": [], "partitions": {"ib": outline(entries)}}
    try:
        inherit(Wanted((INSTANCE._replace(partitions=text),), **more), found)
    except Refused as refused:
        assert foreseen(found.public(), {}, manages=["ib"], declared=lambda: outlined) == [refused.msg]
        return names(refused)
    assert foreseen(found.public(), {"opensm_give_up": list(more.get("give_up", ()))}, manages=["ib"], declared=lambda: outlined) == []
    return []


def test_a_broadcast_group_does_not_go_without_a_word() -> None:
    lost = ["partition Default ipoib", "partition storage ipoib"]
    assert lost_partitions(BY_HAND, ENTRIES) == lost
    assert lost_partitions(BY_HAND, [{**entry, "ipoib": True} for entry in ENTRIES]) == []
    assert lost_partitions(BY_HAND, ENTRIES, give_up=frozenset(lost)) == []


@pytest.mark.parametrize(
    ("before", "members", "lost"),
    [
        ("ALL=full", [{"keyword": "ALL", "membership": "limited"}, {"port_guid": GUID}], ["partition storage ALL"]),
        ("ALL=full, SELF=full", [{"port_guid": GUID}], ["partition storage ALL", "partition storage SELF"]),
        ("ALL=limited, SELF=full", [{"keyword": "ALL"}], []),
        ("ALL=full, ALL_SWITCHES=full", [{"keyword": "ALL_CAS"}], []),
        ("ALL=limited", [{"keyword": "SELF"}], ["partition storage ALL"]),
        ("ALL_CAS=both", [{"keyword": "ALL"}], ["partition storage ALL_CAS"]),
        ("0x1=full, 0x2=limited", [{"port_guid": GUID}], []),
    ],
)
def test_members_by_keyword_are_kept_or_named(before: str, members: list[dict[str, str]], lost: list[str]) -> None:
    entries = [ENTRIES[0], {**ENTRIES[1], "members": members, "isolate": True}]
    assert lost_partitions("storage=0x8001 : %s;\n" % before, entries) == lost


def test_what_opensm_adds_to_the_default_partition_is_not_lost() -> None:
    entries = [{"name": "Default", "pkey": "0x7fff", "members": [{"port_guid": GUID}], "isolate": True}]
    assert lost_partitions("Default=0x7fff : ALL=limited, SELF=full;\n", entries) == []


def test_the_broadcast_group_that_opensm_makes_without_a_file_counts(root: pathlib.Path) -> None:
    process(root, 7)
    found = look(Opensm(), str(root))
    assert names(refused_of(Wanted((INSTANCE._replace(partitions=render(ENTRIES, Inventory({}))),)), found)) == ["partition Default ipoib"]
    # Without a file of the collection, opensm continues as before.
    assert inherit(Wanted((INSTANCE,)), found) == Wanted((INSTANCE,))
    assert inherit(Wanted(), found) == Wanted()


def test_a_manager_of_another_fabric_does_not_count_against_the_declared_one() -> None:
    other = "0x0000000000100002"
    found = Found(predecessors=(PREDECESSOR._replace(guid=other, keys={"routing_engine": ("updn",)}),))
    instance = INSTANCE._replace(partitions="Default=0x7fff,ipoib : ALL=full;\n", known=Known(elsewhere=frozenset([other])))
    wanted = Wanted((instance,), adopt=True, declared=frozenset(["routing_engine"]), partitions=instance.partitions + DECLARED)
    assert inherit(wanted._replace(give_up=frozenset(["partition storage mtu", "partition storage"])), found).instances == (instance,)
    # Nor is it lost silently, and adopted settings do not enter another fabric.
    refused = refused_of(wanted._replace(declared=frozenset(), give_up=frozenset(["partition storage"])), found)
    assert names(refused) == ["routing_engine"] and "can't keep them" in refused.msg
    # The same port without a declared fabric may be on this one.
    (adopted,) = inherit(wanted._replace(instances=(INSTANCE,), declared=frozenset()), found).instances
    assert adopted.adopted == {"routing_engine": ("updn",)}


def test_the_look_tells_two_fabrics_apart() -> None:
    other = "0x0000000000100002"
    found = Found(predecessors=(Predecessor("process 7", {}, PARTITIONS, "/etc/opensm/partitions.conf", other),))
    site = {"keys": [], "partitions": {"ib": "Default=0x7fff,ipoib : ALL=full;\n", "storage": PARTITIONS}}
    guids = {"ib": [GUID], "storage": [other]}
    assert foreseen(found, {}, manages=["ib"], declared=lambda: site, guids=guids) == []
    assert foreseen(found, {}, manages=["ib", "storage"], declared=lambda: site, guids=guids) == []
    assert foreseen(found, {}, manages=["ib"], declared=lambda: site) != []


def test_what_the_installed_opensm_does_not_take_is_dropped_by_name() -> None:
    adopted = {"max_wire_smps": ("16",), "ar_mode": ("2",), "sweep_interval": ("often",), "vendor_key": ("4711",)}
    fitted, misfits = fit(INSTANCE._replace(adopted=adopted), TEMPLATE)
    assert fitted.adopted == {"max_wire_smps": ("16",)}
    assert misfits == {"ar_mode": "2", "sweep_interval": "often", "vendor_key": "(hidden)"}
    ours = "guid 0x0000000000000000\nsubnet_prefix 0xfe80000000000000\nsm_priority 0\nlog_file x\nlog_max_size 0\ndump_files_dir x\nnode_name_map_name x\n"
    assert "\nmax_wire_smps 16\n" in fitted.conf(TEMPLATE + ours)
    # Before opensm is installed, its keys are unknown.
    assert fit(INSTANCE._replace(adopted=adopted), "")[0].adopted == adopted


@pytest.mark.parametrize("end", ["", ".rpmsave", ".rpmorig", ".dpkg-old"])
@pytest.mark.parametrize("folder", ["/etc/opensm", "/etc/rdma"])
def test_files_of_a_build_that_was_replaced_count(root: pathlib.Path, folder: str, end: str) -> None:
    put(root, folder + "/opensm.conf" + end, CONF)
    put(root, folder + "/partitions.conf" + end, PARTITIONS)
    (found,) = look(Opensm(), str(root)).predecessors
    assert (found.runs, found.keys["routing_engine"], found.partitions) == (False, ("updn",), PARTITIONS)
    assert (found.source, found.partitions_source) == (folder + "/opensm.conf" + end, folder + "/partitions.conf" + end)
    if end:
        # The package installs its own files.
        put(root, "/etc/opensm/opensm.conf", TEMPLATE)
        put(root, "/etc/opensm/partitions.conf", "Default=0x7fff, ipoib : ALL=full;\n")
        assert ("updn",) in [predecessor.keys.get("routing_engine") for predecessor in look(Opensm(), str(root)).predecessors]
    process(root, 7)
    assert look(Opensm(), str(root)).predecessors[0].runs


def test_an_idle_node_starts_no_opensm(root: pathlib.Path) -> None:
    class Idle(Opensm):
        def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
            raise AssertionError(argv)

    put(root, "/etc/opensm/opensm.conf", CONF)
    assert look(Idle(), str(root), public=True, manages=False) == Found()
    # Nor does a process without files of others.
    (root / "etc/opensm/opensm.conf").unlink()
    assert look(Idle(), str(root), public=True) == Found()


def test_what_is_adopted_stays_in_later_runs() -> None:
    wanted = Wanted((INSTANCE,), adopt=True)
    found = Found(predecessors=(PREDECESSOR,))
    (instance,) = inherit(wanted, found).instances
    files = instance.files()
    assert "\nrouting_engine updn\n" in files[instance.path("opensm.conf")]
    # Without the rule for the default partition, all ports would be limited members of it.
    assert [rule.name for rule in parse_partitions(files[instance.path("partitions.conf")])] == ["Default", "storage"]
    later = Found(files={path: text for path, text in files.items() if text})
    (again,) = inherit(wanted, later).instances
    assert again.files() == files
    # It is treated like a predecessor: if it is no longer kept, it is reported.
    assert sorted(names(refused_of(Wanted((INSTANCE,)), later))) == ["max_wire_smps", "partition storage", "routing_engine", "sm_key"]
    # A later declaration takes precedence.
    (declared,) = inherit(wanted._replace(declared=frozenset(["routing_engine"])), later).instances
    assert "routing_engine" not in declared.adopted and "max_wire_smps" in declared.adopted


def test_what_was_adopted_is_named_where_the_subnet_manager_moves_away() -> None:
    (instance,) = inherit(Wanted((INSTANCE,), adopt=True), Found(predecessors=(PREDECESSOR,))).instances
    left = Found(files={path: text for path, text in instance.files().items() if text})
    assert "the designated host is another one" in refused_of(Wanted(adopt=True), left).msg


def test_what_would_make_two_masters_or_none_is_never_adopted() -> None:
    wrong = Predecessor("process 7", {"ignore_other_sm": ("TRUE",), UNKNOWN: ("--ufm 1",)})
    refused = refused_of(Wanted((INSTANCE,), adopt=True), Found(predecessors=(wrong,)))
    assert names(refused) == ["ignore_other_sm", UNKNOWN]
    assert "opensm_adopt can't keep them" in refused.msg


def test_a_resting_host_with_files_alone_loses_nothing() -> None:
    assert inherit(Wanted(), Found(predecessors=(PREDECESSOR._replace(runs=False),))) == Wanted()


OURS = "Default=0x7fff,ipoib :\n    ALL=full;\n\nstorage=0x0001,ipoib :\n    ALL=full;\n"


def left(instance: Instance) -> Found:
    """Return a host after a run with this instance."""
    return Found(files={path: text for path, text in instance.files().items() if text})


def declaring(**options: t.Any) -> Instance:
    return INSTANCE._replace(options=options, declared=frozenset(options))


def test_a_partition_that_is_no_longer_declared_is_named_and_goes_by_name() -> None:
    found = left(INSTANCE._replace(partitions=OURS))
    after = Wanted((INSTANCE._replace(partitions=OURS.replace("storage=0x0001", "other=0x0002")),))
    for seen in (found, found.public()):
        refused = refused_of(after, seen)
        assert names(refused) == ["partition storage"] and "(declared in an earlier run)" in refused.msg
    after = after._replace(give_up=frozenset(["partition storage"]))
    require_consent(inherit(after, found), found)
    (change,) = plan(inherit(after, found), found).about(Kind.PARTITION)
    assert change.words() == "partition storage of fabric ib: 0x0001 -> none"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (["0x1%x=full" % number for number in range(6)], "6 members"),
        (["ALL=limited", "0x11=full", "0x12"], "3 members"),
        (["ALL=limited", "SELF=full"], "2 members"),
        (["0x11=full"], "1 member"),
        ([], "0 members"),
    ],
)
def test_the_controller_counts_the_members_as_the_host_does(members: list[str], words: str) -> None:
    """The controller does not get the members' GUIDs."""
    found = left(INSTANCE._replace(partitions="Default=0x7fff,ipoib :\n    ALL=full;\n\nstorage=0x0001,ipoib :\n    %s;\n" % ",\n    ".join(members)))
    for seen in (found, found.public(), found.public().public()):
        assert "partition storage: 0x0001, %s (" % words in refused_of(Wanted((INSTANCE,)), seen).msg
    assert "0x000" not in found.public().files[INSTANCE.path("partitions.conf")].replace("=0x0001", "")


def test_members_that_opensm_drops_are_named() -> None:
    """A multicast group takes the rest of its line, whatever the author meant."""
    text = "storage=0x8001, ipoib, mtu=5 :\n mgid=ff12:401b::1, sl=1, ALL=full, 0x11\n 0x12=full, mgid=ff12:401b::2, SELF;\n"
    refused = refused_of(Wanted((INSTANCE,)), Found(predecessors=(Predecessor("x", {}, text, "/etc/opensm/partitions.conf"),)))
    said = "partition storage: 0x0001, mtu=5, 1 member; opensm drops ALL=full, 0x11, SELF: behind mgid= on one line, they are flags of the group"
    assert said in refused.msg


def test_a_partition_with_another_mtu_or_other_members_is_as_declared() -> None:
    found = left(INSTANCE._replace(partitions="storage=0x0001,ipoib,mtu=5 :\n    ALL=full;\n"))
    wanted = Wanted((INSTANCE._replace(partitions="storage=0x0001 :\n    0x1=limited;\n"),))
    assert inherit(wanted, found) == wanted


def test_keys_that_the_inventory_has_lost_are_named() -> None:
    found = left(declaring(routing_engine="updn", max_wire_smps=16, sweep_interval=5))
    for instance in (declaring(routing_engine="updn", max_wire_smps=8, sweep_interval=5), declaring(routing_engine="ftree", max_wire_smps=8, sweep_interval=3)):
        wanted = Wanted((instance,), declared=instance.declared)
        assert inherit(wanted, found) == wanted
    lost = declaring(sweep_interval=5)
    refused = refused_of(Wanted((lost,), declared=lost.declared), found)
    assert sorted(names(refused)) == ["max_wire_smps", "routing_engine"]
    assert "routing_engine: updn (declared in an earlier run)" in refused.msg and "opensm_give_up: [max_wire_smps, routing_engine]" in refused.msg
    # The controller knows the names before the first change on any host.
    (said,) = foreseen(found.public(), {}, manages=["ib"], declared=lambda: {"keys": ["sweep_interval"], "partitions": {}})
    assert "routing_engine (declared in an earlier run)" in said
    wanted = Wanted((lost,), declared=lost.declared, give_up=frozenset(["max_wire_smps", "routing_engine"]))
    assert inherit(wanted, found) == wanted
    # After that run, nothing is left to give up.
    again = left(lost)
    assert inherit(wanted._replace(give_up=frozenset()), again).instances == (lost,)


def test_keys_that_the_inventory_has_lost_can_be_adopted() -> None:
    found = left(declaring(routing_engine="updn", sm_key=7))
    (kept,) = inherit(Wanted((INSTANCE,), adopt=True), found).instances
    assert kept.adopted == {"routing_engine": ("updn",), "sm_key": ("7",)}
    assert foreseen(found.public(), {"opensm_adopt": True}, manages=["ib"], declared=nothing) == []
    # The record has only the names, because other users may read it.
    record = found.files[INSTANCE.path("declared-keys")]
    assert [line for line in record.splitlines() if not line.startswith("#")] == ["routing_engine", "sm_key"]


def test_what_was_declared_for_a_subnet_manager_that_moves_away_is_declared_there_or_named() -> None:
    found = left(declaring(routing_engine="updn")._replace(partitions=OURS))
    refused = refused_of(Wanted(), found)
    assert sorted(names(refused)) == ["partition storage", "routing_engine"] and "the designated host is another one" in refused.msg
    elsewhere = Wanted(declared=frozenset(["routing_engine"]), partitions=OURS)
    assert inherit(elsewhere, found) == elsewhere
    # Consent to remove everything includes this.
    assert inherit(Wanted(allow_removal=True), found) == Wanted(allow_removal=True)


def test_a_host_without_the_record_of_an_earlier_release_loses_nothing() -> None:
    files = {path: text for path, text in left(declaring(routing_engine="updn")).files.items() if not path.endswith("declared-keys")}
    assert inherit(Wanted((INSTANCE,)), Found(files=files)) == Wanted((INSTANCE,))


@pytest.mark.parametrize("partitions", ["", "Default=0x7fff,ipoib :\n    ALL=full;\n"])
def test_the_last_partition_goes_with_consent(partitions: str) -> None:
    before = INSTANCE._replace(partitions=OURS)
    found = Found(files={path: text for path, text in before.files().items() if text})
    wanted = Wanted((INSTANCE._replace(partitions=partitions),))
    for seen in (found, found.public()):
        with pytest.raises(Refused, match=r"fabric ib would lose all of its partitions: storage \(0x0001\).*rdma_allow_removal: true"):
            require_consent(wanted, seen)
    require_consent(wanted._replace(allow_removal=True), found)


def nothing() -> dict[str, t.Any]:
    return {"keys": [], "partitions": {}}


def test_the_look_tells_what_the_module_would_refuse() -> None:
    found = Found(predecessors=(PREDECESSOR,)).public()
    for manages in (["ib"], []):
        (refusal,) = foreseen(found, {}, manages=manages, declared=nothing)
        assert "routing_engine" in refusal
    keys = [*PREDECESSOR.keys, "partition storage"]
    assert foreseen(found, {"opensm_give_up": keys}, manages=["ib"], declared=nothing) == []
    assert foreseen(found, {"opensm_adopt": True}, manages=["ib"], declared=nothing) == []
    assert foreseen(found, {"opensm_state": "unmanaged"}, manages=["ib"], declared=nothing) == []
    assert foreseen(found, {}, manages=["ib"], declared=lambda: {"keys": list(PREDECESSOR.keys), "partitions": {"ib": DECLARED}}) == []
    # The declaration is looked up only if it matters: that reads the variables of another host.
    assert foreseen(Found(), {}, manages=[], declared=lambda: pytest.fail("looked up")) == []
    (adopted,) = inherit(Wanted((INSTANCE,), adopt=True), Found(predecessors=(PREDECESSOR,))).instances
    kept = Found(files={path: text for path, text in adopted.files().items() if text}).public()
    assert foreseen(kept, {"opensm_adopt": True}, manages=["ib"], declared=nothing) == []
    assert "partition storage" in foreseen(kept, {}, manages=["ib"], declared=nothing)[0]
    before = INSTANCE._replace(partitions=OURS)
    ours = Found(files={path: text for path, text in before.files().items() if text}).public()
    assert len(foreseen(ours, {}, manages=["ib"], declared=nothing)) == 1
    assert foreseen(ours, {"rdma_allow_removal": True}, manages=["ib"], declared=nothing) == []
