# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is pending, as a table with short names of hosts."""

from __future__ import annotations

import re

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._site._pending import fold, render
from hypothesis import given, settings
from hypothesis import strategies as st

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
    both = "0000:03:00.0 NUM_OF_VFS: 0 -> 16 (needs reboot)"
    assert render({"node2": [both], "node1": [both, "a second thing"], "node3": []}).splitlines() == [
        "hosts      pending",
        "---------  -------",
        "node[1-2]  " + both,
        "node1      a second thing",
        "",
        "A reload, reset or reboot is pending on 2 of 3 hosts: see rdma_allow_reload, rdma_allow_reset and rdma_allow_reboot.",
    ]


def test_nothing_is_no_table() -> None:
    assert render({"node1": [], "node2": []}) == ""
