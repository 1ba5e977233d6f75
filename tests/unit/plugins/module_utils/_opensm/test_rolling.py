# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of hosts in a rolling run, and what puts pending changes into effect."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.ofed.plugins.filter.activation import FilterModule
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import Member
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._rolling import Batch, batches, problems, sizes
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending
from ansible_collections.rdma.ofed.plugins.module_utils._site._pending import activation
from hypothesis import given
from hypothesis import strategies as st

HOSTS = ["node%d" % number for number in range(1, 8)]
GROUPS = {"all": HOSTS, "compute": ["node1", "node2", "node3", "node4"], "storage": ["node4", "node5", "node6"], "opensm": ["node1", "node7"]}
MEMBERS = [Member("node1", "ib"), Member("node7", "ib")]
SERIALS = st.one_of(st.integers(1, 30), st.integers(1, 100).map("%d%%".__mod__), st.lists(st.integers(1, 9), min_size=1, max_size=4))


@pytest.mark.parametrize(
    ("serial", "count", "expected"),
    [(1, 3, [1, 1, 1]), (2, 5, [2, 2, 1]), ("50%", 5, [2, 2, 1]), ("1%", 3, [1, 1, 1]), ([1, "50%"], 7, [1, 3, 3]), ([1, 3], 8, [1, 3, 3, 1]), (9, 0, [])],
)
def test_sizes_are_those_of_ansible(serial: t.Any, count: int, expected: list[int]) -> None:
    assert sizes(serial, count) == expected


def test_groups_in_order_and_subnet_managers_last_alone_the_designated_one_at_the_end() -> None:
    assert batches(HOSTS, order=["storage", "compute"], groups=GROUPS, members=MEMBERS, serial=2) == (
        Batch("storage", ("node4", "node5")),
        Batch("storage", ("node6",)),
        Batch("compute", ("node2", "node3")),
        Batch("subnet manager, standby", ("node7",)),
        Batch("subnet manager", ("node1",)),
    )


def test_without_groups_all_hosts_are_one_group_in_the_order_of_the_inventory() -> None:
    ranked = [Member("node1", "ib", 2), Member("node7", "ib", 1)]
    found = batches(HOSTS, order=[], groups=GROUPS, members=ranked, serial="40%")
    assert [batch.hosts for batch in found] == [("node2", "node3"), ("node4", "node5"), ("node6",), ("node1",), ("node7",)]


def test_only_the_hosts_with_something_to_do_are_in_it() -> None:
    found = batches(["node3", "node7"], order=["compute", "storage"], groups=GROUPS, members=MEMBERS, serial=9)
    assert [batch.hosts for batch in found] == [("node3",), ("node7",)]
    assert batches([], order=["compute"], groups=GROUPS, members=MEMBERS, serial=1) == ()


@given(st.lists(st.sampled_from(HOSTS), unique=True), st.sampled_from([[], ["compute", "storage"], ["storage", "compute"]]), SERIALS)
def test_every_host_is_in_one_batch_and_no_two_subnet_managers_are(hosts: list[str], order: list[str], serial: t.Any) -> None:
    found = batches(hosts, order=order, groups=GROUPS, members=MEMBERS, serial=serial)
    assert sorted(host for batch in found for host in batch.hosts) == sorted(hosts)
    own = [index for index, batch in enumerate(found) if {"node1", "node7"} & set(batch.hosts)]
    assert all(len(found[index].hosts) == 1 for index in own)
    assert own == list(range(len(found) - len(own), len(found)))


@pytest.mark.parametrize(
    ("order", "hosts", "words"),
    [
        ("compute", HOSTS, "allowed: a list of names of groups"),
        (["compute", "storge"], HOSTS, "rdma_upgrade_groups[1] is 'storge'; allowed: a group of the inventory: compute, opensm, storage"),
        (["compute"], HOSTS, "node5, node6 would be skipped"),
    ],
)
def test_groups_that_leave_a_host_behind_are_refused(order: t.Any, hosts: list[str], words: str) -> None:
    assert words in " ".join(str(problem) for problem in problems(order, groups=GROUPS, hosts=hosts, members=MEMBERS))


def test_groups_that_have_all_hosts_are_fine() -> None:
    assert problems([], groups=GROUPS, hosts=HOSTS, members=MEMBERS) == []
    assert problems(["compute", "storage"], groups=GROUPS, hosts=HOSTS, members=MEMBERS) == []
    assert problems(["compute"], groups=GROUPS, hosts=["node2", "node7"], members=MEMBERS) == []


RELOAD, RESET, REBOOT, COLD = (
    Pending(Change(Kind.DRIVER, "", "", "as loaded", "as installed", needs)).result() for needs in ("driver_reload", "device_reset", "reboot", "cold_boot")
)


@pytest.mark.parametrize(
    ("entries", "reload", "reboot", "prefer", "expected"),
    [
        ([], True, True, False, ""),
        ([RELOAD], False, False, False, ""),
        ([RELOAD], True, False, False, "reload"),
        ([RELOAD], True, True, False, "reload"),
        ([RELOAD], True, True, True, "reboot"),
        ([RELOAD], False, True, False, "reboot"),
        ([RELOAD, REBOOT], True, True, False, "reboot"),
        ([RELOAD, REBOOT], True, False, False, "reload"),
        ([RESET], True, True, False, "reboot"),
        ([RESET], True, False, False, ""),
        ([COLD], True, True, True, ""),
    ],
)
def test_one_thing_makes_everything_effective_that_is_allowed(entries: list[dict[str, t.Any]], reload: bool, reboot: bool, prefer: bool, expected: str) -> None:
    assert activation({entry["needs"] for entry in entries}, allow_reload=reload, allow_reboot=reboot, prefer_reboot=prefer) == expected
    assert FilterModule().filters()["activation"](entries, reload, reboot, prefer) == expected


@pytest.mark.parametrize("entries", ["driver_reload", ["driver: a -> b (needs driver_reload)"]])
def test_what_is_no_pending_change_is_an_error(entries: t.Any) -> None:
    with pytest.raises(AnsibleFilterError, match="allowed: "):
        FilterModule().filters()["activation"](entries)
