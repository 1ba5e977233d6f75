# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import re
import time
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._entry import DEFAULT_PKEY
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._file import Absentee, recall
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import Inventory, absentees, port_guids, problems, render
from hypothesis import given
from hypothesis import strategies as st
from support.partition_file import parse

CORPUS = pathlib.Path(__file__).parents[5] / "corpus/opensm_partitions"

GUIDS = {
    "node1": ("0x0002c90300001001",),
    "node2": ("0x0002c90300001011", "0x0002c90300001012"),
    "node3": ("0x0002c90300001021",),
    "nas1": ("0x0002c903000010f1",),
}
GROUPS = {"all": [*GUIDS], "compute": ["node1", "node2", "node3"], "storage": ["nas1"], "empty": []}
INVENTORY = Inventory(GROUPS, GUIDS)

DEFAULT = {"name": "Default", "pkey": 0x7FFF, "ipoib": True, "members": [{"keyword": "ALL"}]}


def entry(**values: t.Any) -> dict[str, t.Any]:
    return {"name": "p1", "pkey": "0x8001", "members": [{"group": "compute"}], **values}


# By name of the golden file; the real opensm reads the same files in tests/acceptance.
GOLDEN: dict[str, list[dict[str, t.Any]]] = {
    "default": [DEFAULT],
    "default_4k": [{**DEFAULT, "mtu": 4096, "rate": "100 Gb/sec", "scope": ["link", "global"]}],
    "hosts_and_groups": [
        DEFAULT,
        {
            "name": "storage",
            "pkey": "0x8001",
            "ipoib": True,
            "rate": "10 Gb/sec",
            "mtu": "2048",
            "sl": 1,
            "membership": "limited",
            "isolate": True,
            "members": [{"group": "compute"}, {"host": "nas1", "membership": "full"}, {"keyword": "SELF", "membership": "full"}],
        },
    ],
    "specific_before_general": [
        {**DEFAULT, "members": [{"keyword": "ALL", "membership": "limited"}, {"keyword": "SELF"}, {"keyword": "ALL_SWITCHES"}], "isolate": True},
        {
            "name": "p.2-x",
            "pkey": 2,
            "isolate": True,
            "members": [
                {"port_guid": "0x0002C90300001012", "membership": "both"},
                {"group": "compute", "membership": "limited"},
                {"host": "node2", "membership": "full"},
                {"port_guid": "2c90300001fff"},
            ],
        },
        {"name": "nobody", "pkey": 3, "members": [{"group": "empty"}]},
    ],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str) -> None:
    assert render(GOLDEN[name], INVENTORY) == (CORPUS / ("%s.conf" % name)).read_text(encoding="utf-8")


def test_every_golden_file_is_expected() -> None:
    assert sorted(path.stem for path in CORPUS.glob("*.conf")) == sorted(GOLDEN)


def effective(text: str) -> dict[int, dict[str, str]]:
    """Return the effective membership as opensm computes it: by P_Key, the last word for each member. An independent model."""
    found: dict[int, dict[str, str]] = {}
    for rule in parse(text):
        members = found.setdefault(rule.pkey, {})
        for who, membership in rule.members:
            if who == "ALL":
                members.clear()
            members[who] = membership
    return found


def test_what_is_written_means_what_was_declared() -> None:
    found = effective(render(GOLDEN["specific_before_general"], INVENTORY))
    assert found[DEFAULT_PKEY] == {"ALL": "limited", "ALL_SWITCHES": "full", "SELF": "full"}
    assert found[2] == {
        "0x0002c90300001001": "limited",
        "0x0002c90300001011": "full",
        "0x0002c90300001012": "both",
        "0x0002c90300001021": "limited",
        "0x0002c90300001fff": "full",
    }
    assert 3 not in found


def test_the_broadcast_group() -> None:
    (rule,) = parse(render(GOLDEN["default_4k"], INVENTORY))
    assert rule.flags == (("ipoib", ""), ("rate", "16"), ("mtu", "5"), ("scope", "2"), ("scope", "14"))


def test_without_partitions_there_is_no_file() -> None:
    for nothing in (None, [], ""):
        assert problems(nothing, INVENTORY) == []
        assert render(nothing, INVENTORY) == ""


def only(declared: t.Any, inventory: Inventory | None = INVENTORY, **options: bool) -> str:
    (problem,) = problems(declared, inventory, **options)
    return str(problem)


def test_a_missing_default_rule() -> None:
    words = only([entry()])
    assert "0x7fff" in words
    assert "keyword: ALL" in words


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"name": "7up"}, r"opensm_partitions\[1\].name is '7up'"),
        ({"name": "a=b"}, "name is"),
        ({"name": "x" * 32}, "up to 31"),
        ({"name": None}, "name is not set"),
        ({"pkey": 0x8000}, "0x8000 and 0 name no partition"),
        ({"pkey": 0x12345}, "pkey is 74565"),
        ({"ipoib": True, "mtu": 5}, "an MTU in bytes: 256, 512"),
        ({"ipoib": True, "rate": 3}, "a rate in Gb/s: 2.5, 5, 10"),
        ({"ipoib": True, "scope": "far"}, "link, site"),
        ({"ipoib": True, "scope": []}, "link, site"),
        ({"ipoib": "perhaps"}, "true or false"),
        ({"mtu": 2048}, "nothing without ipoib: true"),
        ({"sl": 16}, "from 0 to 15"),
        ({"membership": "ful"}, "full, limited, both"),
        ({"defmember": "full"}, "defmember.*no such key"),
        ({"members": []}, "at least one member"),
        ({"members": "ALL"}, "a list"),
        ({"members": ["ALL"]}, r"\{keyword: ALL\}"),
        ({"members": [{"keyword": "EVERYBODY"}]}, "ALL, ALL_CAS"),
        ({"members": [{"host": "node1", "group": "compute"}]}, "exactly one of host, group, port_guid, keyword"),
        ({"members": [{}]}, "exactly one of"),
        ({"members": [{"hots": "node1", "host": "node1"}]}, "host.*no such key"),
        ({"members": [{"host": 5}]}, "the name of a host"),
        ({"members": [{"port_guid": 5}]}, "quote it"),
        ({"members": [{"port_guid": "0x0"}]}, "not the node GUID"),
        ({"members": [{"host": "node1", "membership": "whole"}]}, "full, limited, both"),
        ({"members": [{"host": "node9"}]}, "allowed: a host of the inventory .it has no such host; did you mean node.. If it has left, remove the entry"),
        ({"members": [{"group": "computers"}]}, "allowed: a group of the inventory .it has no such group; did you mean compute"),
        ({"members": [{"host": "node1"}, {"host": "node1", "membership": "limited"}]}, "is in the list before"),
        ({"pkey": 0xFFFF}, "a P_Key of its own"),
        ({"name": "default"}, "a name of its own|Default is the name"),
    ],
)
def test_each_mistake_is_named(values: dict[str, t.Any], words: str) -> None:
    found = [str(problem) for problem in problems([DEFAULT, entry(**values)], INVENTORY)]
    assert found
    assert any(re.search(words, text) for text in found), found


def test_the_membership_bit_makes_no_other_partition() -> None:
    words = only([DEFAULT, entry(), entry(name="p2", pkey=1)])
    assert "opensm_partitions[1] (p1) has it, too; 0x0001 and 0x8001 are one partition" in words


def test_default_is_the_name_of_one_partition() -> None:
    found = problems([{**DEFAULT, "name": "everybody"}, entry(name="Default")], INVENTORY)
    assert ["Default is the name" in str(problem) for problem in found] == [True]


def without(*hosts: str) -> Inventory:
    """Return the inventory of a run that does not reach these hosts."""
    return Inventory(GROUPS, {host: guids for host, guids in GUIDS.items() if host not in hosts})


def test_hosts_without_known_ports_are_absent_and_no_problem() -> None:
    blind = without("node2", "nas1")
    declared = [DEFAULT, entry(membership="limited", members=[{"group": "compute"}, {"host": "node2", "membership": "full"}, {"host": "nas1"}], isolate=True)]
    assert problems(declared, blind) == []
    assert GUIDS["node2"][0] not in render(declared, blind)
    assert absentees(declared, blind) == [Absentee(1, "node2", "full"), Absentee(1, "nas1", "limited")]
    assert absentees(declared, INVENTORY) == []


def test_an_absent_host_still_counts_as_the_full_member() -> None:
    declared = [DEFAULT, entry(isolate=True, membership="limited", members=[{"host": "node1"}, {"host": "nas1", "membership": "full"}])]
    assert problems(declared, without("nas1")) == []


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("away", [[], ["node1"], ["node2", "nas1"], [*GUIDS]])
def test_an_absent_host_keeps_the_ports_that_the_last_file_has(name: str, away: list[str]) -> None:
    """The file stays identical byte for byte, so nothing is applied."""
    whole, blind = render(GOLDEN[name], INVENTORY), without(*away)
    found = recall(render(GOLDEN[name], blind), whole, absentees(GOLDEN[name], blind))
    if "port_guid" not in str(GOLDEN[name]):
        assert found.text == whole
    assert effective(found.text) == effective(whole)
    assert found.missing == ()


def test_a_host_that_was_never_seen_is_missing() -> None:
    declared, blind = [DEFAULT, entry()], without("node2", "node3")
    text = render(declared, blind)
    last = render(declared, without("node3"))
    assert recall(text, last, absentees(declared, blind)) == (last, ("node2",), ("node3",))
    assert recall(text, "", absentees(declared, blind)) == (text, (), ("node2", "node3"))


def test_a_partition_of_absent_hosts_alone() -> None:
    declared, blind = [DEFAULT, entry(members=[{"host": "nas1"}])], without("nas1")
    assert "# p1=0x0001 has no members." in render(declared, blind)
    whole = render(declared, INVENTORY)
    assert recall(render(declared, blind), whole, absentees(declared, blind)).text == whole


def test_a_port_that_has_moved_to_another_host_is_not_kept() -> None:
    declared, blind = [DEFAULT, entry()], without("node3")
    found = recall(render(declared, blind), render(declared, INVENTORY), absentees(declared, blind), owned=GUIDS["node3"])
    assert found == (render(declared, blind), (), ("node3",))


def test_an_absent_host_has_the_membership_that_is_declared_now() -> None:
    blind, before = without("nas1"), render([DEFAULT, entry(members=[{"host": "nas1"}, {"host": "node1"}])], INVENTORY)
    declared = [DEFAULT, entry(members=[{"host": "nas1", "membership": "limited"}, {"host": "node1"}])]
    assert recall(render(declared, blind), before, absentees(declared, blind)).text == render(declared, INVENTORY)


def test_before_facts_are_gathered_nothing_is_missing() -> None:
    assert problems([DEFAULT, entry()], Inventory(GROUPS)) == []


def test_hosts_of_other_fabrics() -> None:
    here = Inventory(GROUPS, {"node1": GUIDS["node1"], "node2": GUIDS["node2"]}, ["node3"])
    assert "node3" not in render([DEFAULT, entry()], here)
    assert "a host with a port on this fabric" in only([DEFAULT, entry(members=[{"host": "node3"}])], here)


def test_a_port_guid_of_two_hosts() -> None:
    twins = Inventory(GROUPS, {**GUIDS, "nas1": GUIDS["node1"]})
    assert "opensm_port_guids of nas1" in only([DEFAULT], twins)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([{"group": "compute", "membership": "limited"}], "at least one full member"),
        ([{"host": "node1", "membership": "limited"}, {"host": "node3", "membership": "limited"}], "node1 and node3, all limited"),
        ([{"group": "compute", "membership": "limited"}, {"host": "nas1"}], "node1 and node2, both limited"),
        ([{"keyword": "ALL", "membership": "limited"}, {"host": "nas1"}], "ALL and another one of them, both limited"),
    ],
)
@pytest.mark.parametrize("inventory", [INVENTORY, Inventory(GROUPS), None])
def test_limited_pairs_that_cannot_talk(members: list[t.Any], words: str, inventory: Inventory | None) -> None:
    text = only([DEFAULT, entry(members=members)], inventory)
    if inventory is INVENTORY:
        assert words in text
    if "both limited" in words:
        assert "isolate: true" in text
        assert problems([DEFAULT, entry(members=members, isolate=True)], inventory) == []
    else:
        assert problems([DEFAULT, entry(members=members, isolate=True)], inventory)


def test_one_limited_member_has_somebody_to_talk_to() -> None:
    members = [{"host": "node2", "membership": "limited"}, {"host": "nas1"}, {"keyword": "ALL_SWITCHES", "membership": "limited"}]
    assert problems([DEFAULT, entry(members=members[:2])], INVENTORY) == []
    assert problems([DEFAULT, entry(members=[members[1], members[2]])], INVENTORY) == []


def test_whoever_is_not_named_in_the_default_rule() -> None:
    words = only([{**DEFAULT, "members": [{"group": "compute"}]}])
    assert "every port that is not named" in words
    assert "keyword: ALL" in words
    assert problems([{**DEFAULT, "members": [{"group": "compute"}], "isolate": True}], INVENTORY) == []


@pytest.mark.parametrize(
    "members",
    [
        [{"keyword": "ALL", "membership": "limited"}],
        [{"keyword": "ALL"}, {"keyword": "SELF", "membership": "limited"}],
        [{"keyword": "ALL"}, {"keyword": "ALL_CAS", "membership": "limited"}],
    ],
)
def test_a_limited_subnet_manager(members: list[t.Any]) -> None:
    found = problems([{**DEFAULT, "members": members, "isolate": True}], INVENTORY)
    assert any("subnet manager's own port" in str(problem) for problem in found)


def test_groups_that_overlap() -> None:
    groups = {**GROUPS, "new": ["node2"]}
    inventory = Inventory(groups, GUIDS)
    members = [{"group": "compute"}, {"group": "new", "membership": "limited"}]
    assert "node2 is full by group compute and limited by group new" in only([DEFAULT, entry(members=members)], inventory)
    members.append({"host": "node2", "membership": "full"})
    assert problems([DEFAULT, entry(members=members)], inventory) == []


def test_what_needs_an_option_of_opensm() -> None:
    both = entry(members=[{"host": "node1", "membership": "both"}])
    assert "allow_both_pkeys" in only([DEFAULT, both], allow_both=False)
    assert "opensm_qos" in only([DEFAULT, entry(sl=3)], qos=False)
    assert problems([DEFAULT, entry(sl=0)], INVENTORY, allow_both=False, qos=False) == []
    assert problems([DEFAULT, both, entry(name="p2", pkey=2, sl=3)], INVENTORY) == []


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        render([entry(mtu=5, ipoib=True), entry(members=[{"host": "x", "group": "y"}], sl=99)], INVENTORY)
    assert len(caught.value.problems) == 3


def test_the_variable_may_have_another_name() -> None:
    name = "opensm_fabrics.storage.partitions"
    found = problems([entry(), entry()], INVENTORY, variable=name) + problems([5], INVENTORY, variable=name) + problems(5, variable=name)
    assert len(found) == 5
    assert all(problem.variable.startswith(name) for problem in found)


def test_ports_of_a_host() -> None:
    facts = {
        "ports": [
            {"name": "mlx5_0/1", "port_guid": "0x0000000000000001", "link_layer": "InfiniBand"},
            {"name": "mlx5_1/1", "port_guid": "0x0000000000000002", "link_layer": "InfiniBand"},
            {"name": "mlx5_2/1", "port_guid": "0x0000000000000003", "link_layer": "Ethernet"},
            {"name": "mlx5_3/1", "port_guid": "", "link_layer": "InfiniBand"},
        ]
    }
    assert port_guids({}, facts) == ("0x0000000000000001", "0x0000000000000002")
    assert port_guids({}, facts, ["mlx5_1/1"]) == ("0x0000000000000002",)
    assert port_guids({"opensm_port_guids": ["0xABC"]}, facts) == ("0x0000000000000abc",)
    assert port_guids({"opensm_port_guids": []}) == ()


def test_a_name_of_a_host_breaks_no_line() -> None:
    name = "a\n0x5=full;\x0c"
    text = render([DEFAULT, entry(members=[{"host": name}])], Inventory({"all": [name]}, {name: ["0x0000000000000001"]}))
    assert effective(text)[1] == {"0x0000000000000001": "full"}


def rendered(count: int) -> tuple[str, float]:
    """Return the file for that many hosts, and the processor time that it took."""
    hosts = ["node%05d" % number for number in range(count)]
    guids = {host: ("0x%016x" % (number + 1), "0x%016x" % (number + 100001)) for number, host in enumerate(hosts)}
    inventory = Inventory({"all": hosts, "compute": hosts}, guids)
    members = [{"host": host} for host in hosts]
    start = time.process_time()
    text = render([DEFAULT, entry(), entry(name="p2", pkey=2, members=members)], inventory)
    return text, time.process_time() - start


def test_the_time_for_ten_thousand_hosts_is_in_proportion() -> None:
    text, _seconds = rendered(10000)
    # Proportional work takes ten times as long; if each host inspected all others, it would take a hundred times as long.
    assert any(rendered(10000)[1] < 40 * min(rendered(1000)[1] for _count in range(3)) for _attempt in range(5))
    assert text.count("\n") > 40000
    assert max(len(line) for line in text.splitlines()) < 100


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["ALL", "full", "node1", "0x1"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["name", "pkey", "ipoib", "members", "host", "group", "keyword", "port_guid", "membership", "scope"]), inner, max_size=4
        ),
    ),
    max_leaves=8,
)


@given(anything)
def test_any_value_is_answered_with_problems_at_most(declared: t.Any) -> None:
    for problem in problems(declared, INVENTORY):
        assert problem.variable.startswith("opensm_partitions")
        assert str(problem)


members = st.lists(
    st.fixed_dictionaries({"membership": st.sampled_from(["full", "limited", "both"])}).flatmap(
        lambda base: st.sampled_from(
            [{"host": "node1"}, {"host": "node2"}, {"group": "compute"}, {"group": "storage"}, {"port_guid": "0x5"}, {"keyword": "ALL"}, {"keyword": "SELF"}]
        ).map(lambda who: {**who, **base})
    ),
    min_size=1,
    max_size=5,
)


@given(members)
def test_what_is_accepted_is_read_back_the_same_in_any_order(listed: list[dict[str, str]]) -> None:
    declared = [DEFAULT, entry(members=listed, isolate=True)]
    if problems(declared, INVENTORY):
        return
    text = render(declared, INVENTORY)
    assert render([DEFAULT, entry(members=listed[::-1], isolate=True)], INVENTORY) == text
    found = effective(text)[1]
    for member in listed:
        if "keyword" in member or "port_guid" in member:
            who = member.get("keyword") or "0x0000000000000005"
            assert found[who] == member["membership"]
