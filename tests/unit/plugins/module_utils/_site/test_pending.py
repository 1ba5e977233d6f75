# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pending changes as a table with abbreviated host names."""

from __future__ import annotations

import re

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._hosts import fold
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending
from ansible_collections.rdma.ofed.plugins.module_utils._site._pending import activation, merge, other_kernel, pending_of, render
from hypothesis import given, settings
from hypothesis import strategies as st

VFS = Pending(Change(Kind.FIRMWARE_PARAMETER, "0000:03:00.0", "NUM_OF_VFS", "0", "16", "reboot"))
DRIVER = Pending(Change(Kind.DRIVER, "", "", "as loaded", "as installed", "driver_reload"), ("in use by /scratch",))


@pytest.mark.parametrize(
    ("running", "following", "machine", "pending"),
    [
        ("6.1.0-49", "6.1.0-50", "host", True),
        ("6.1.0-49", "6.1.0-50", "vm", True),
        ("6.1.0-50", "6.1.0-50", "host", False),
        ("6.1.0-50", "", "host", False),
        # The kernel is the host's.
        ("6.1.0-49", "6.1.0-50", "container", False),
        ("6.1.0-49", "6.1.0-50", "chroot", False),
    ],
)
def test_a_kernel_that_boots_next_needs_a_reboot(running: str, following: str, machine: str, pending: bool) -> None:
    found = other_kernel({"kernels": {"running": running, "next_boot": following}, "machine": {"kind": machine}})
    assert found == ((Pending(Change(Kind.KERNEL, "", "running", running, following, "reboot")),) if pending else ())
    assert other_kernel({}) == ()


FOLDED = [
    ([], ""),
    (["node1"], "node1"),
    (["node10", "node9", "node1"], "node[1,9-10]"),
    (["n08", "n09", "n10", "n1"], "n[1,08-10]"),
    (["n08", "n9"], "n[08,9]"),
    (["a1-ib", "a2-ib", "b1-ib", "login"], "a[1-2]-ib b1-ib login"),
    (["r1n1", "r1n2", "r2n1"], "r1n[1-2] r2n1"),
]


@pytest.mark.parametrize(("names", "folded"), FOLDED)
def test_names_that_count_up_are_folded(names: list[str], folded: str) -> None:
    assert fold(names) == folded


def unfold(text: str) -> set[str]:
    names = set()
    for word in text.split():
        match = re.fullmatch(r"([^\[]*)\[(.*)\]([^\]]*)", word)
        if not match:
            names.add(word)
            continue
        for span in match[2].split(","):
            first, _dash, last = span.partition("-")
            width = len(first) if len(first) == len(last or first) else 0
            names.update("%s%0*d%s" % (match[1], width, number, match[3]) for number in range(int(first), int(last or first) + 1))
    return names


@settings(derandomize=True, deadline=None)
@given(st.sets(st.from_regex(r"[a-c]{1,2}(0?[0-9]{1,2})?(-ib)?", fullmatch=True)))
def test_folded_names_are_all_there(names: set[str]) -> None:
    assert unfold(fold(names)) == names


def test_hosts_that_wait_for_the_same_share_a_line() -> None:
    assert render({"node2": [VFS], "node1": [VFS, DRIVER], "node3": []}).splitlines() == [
        "hosts      pending",
        "---------  -------",
        "node[1-2]  0000:03:00.0 NUM_OF_VFS: 0 -> 16 (needs reboot)",
        "node1      driver: as loaded -> as installed (needs driver_reload; in use by /scratch)",
        "",
        "A reload, reset or reboot is pending on 2 of 3 hosts: see rdma_allow_reload, rdma_allow_reset and rdma_allow_reboot.",
    ]


def test_nothing_is_no_table() -> None:
    assert render({"node1": [], "node2": []}) == ""


def test_what_several_modules_report_is_there_once_and_the_last_one_knows_what_it_needs() -> None:
    reset = VFS._replace(change=VFS.change._replace(needs="device_reset"))
    assert merge([VFS, DRIVER], [reset]) == (reset, DRIVER)
    # The earlier pending value differs from the declared one: only one of the two will take effect.
    other = VFS._replace(change=VFS.change._replace(after="8"))
    assert merge([VFS], [DRIVER], [other]) == (other, DRIVER)
    assert merge() == merge([], []) == ()


def test_entries_are_read_back() -> None:
    assert pending_of([VFS.result(), DRIVER.result()]) == (VFS, DRIVER)
    assert pending_of([]) == ()


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ("driver", "rdma_pending is 'driver'; allowed: a list of pending changes"),
        (None, "rdma_pending is not set; allowed: a list of pending changes"),
        (["driver: a -> b (needs reboot)"], "rdma_pending[0] is 'driver: a -> b (needs reboot)'; allowed: a mapping with the keys kind, subject, "),
        ([VFS.result(), {}], "rdma_pending[1] is {}"),
        ([{**VFS.result(), "needs": "patience"}], "needs (restart, interface_bounce, driver_reload, device_reset, reboot, cold_boot, rebuild, upgrade)"),
        ([{**VFS.result(), "kind": "thing"}], "'thing'"),
        ([{**VFS.result(), "why": "because"}], "'because'"),
    ],
)
def test_what_is_no_pending_change_is_refused(entries: object, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        pending_of(entries)
    assert words in caught.value.msg


def test_the_table_names_the_playbook_that_another_stack_waits_for() -> None:
    stack = Pending(Change(Kind.STACK, "", "", "doca 2.9.1", "doca 3.0.0", "upgrade"), ("doca 2.9.1 is installed",))
    driver = Pending(Change(Kind.DRIVER, "", "", "as loaded", "as installed", "driver_reload"))
    table = render({"node1": (stack,), "node2": (stack, driver), "node3": ()})
    assert "node[1-2]  stack: doca 2.9.1 -> doca 3.0.0 (needs upgrade; doca 2.9.1 is installed)" in table
    assert "A reload, reset or reboot is pending on 1 of 3 hosts" in table
    assert "Another stack is pending on 2 of 3 hosts: rdma.ofed.upgrade installs it batch by batch. See rdma_allow_upgrade." in table
    assert "reload" not in render({"node1": (stack,)})
    assert activation({"upgrade"}, allow_reload=True, allow_reboot=True) == ""
