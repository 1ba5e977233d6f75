# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which findings a site accepts, and until when."""

from __future__ import annotations

import datetime
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._accepted import Accepted, Spot, entries_of, gone, match, problems, words

NODE = Spot(frozenset(("node7.cluster", "node7")), frozenset(("mlx5_0/1", "0x1")))
LEAF = Spot(frozenset(("leaf1",)), frozenset(("12",)))
END = Spot(frozenset(("node7",)), frozenset(("1", "mlx5_0/1")))


@pytest.mark.parametrize(
    ("entry", "spots", "fits"),
    [
        ({"host": "node7"}, [NODE], True),
        ({"host": "NODE7.cluster"}, [NODE], True),
        ({"host": "node*"}, [NODE], True),
        ({"host": "node70"}, [NODE], False),
        ({"port": "0x1"}, [NODE], True),
        ({"host": "node7", "port": "mlx5_1/1"}, [NODE], False),
        ({"host": "node7", "link": ("leaf1/12",)}, [NODE], False),
        ({"link": ("leaf1/12",)}, [LEAF, END], True),
        ({"link": ("node7/1", "leaf1/12")}, [LEAF, END], True),
        ({"link": ("leaf1/12", "leaf1/12")}, [LEAF, END], False),
        ({"link": ("leaf1/13",)}, [LEAF, END], False),
        ({"host": "leaf1", "port": "mlx5_0/1"}, [LEAF, END], False),
    ],
)
def test_an_entry_fits_where_all_that_it_says_does(entry: dict[str, t.Any], spots: list[Spot], fits: bool) -> None:
    assert (match([Accepted("link_down", **entry)], "link_down", spots, today="2026-01-01") is not None) is fits
    assert match([Accepted("link_down", **entry)], "link_degraded", spots, today="2026-01-01") is None


def test_the_last_day_counts_and_a_later_entry_replaces_an_expired_one() -> None:
    old, new = Accepted("link_down", "node7", until="2026-01-31"), Accepted("link_down", "node7", until="2026-03-31")
    assert match([old, new], "link_down", [NODE], today="2026-01-31") == old
    assert match([old, new], "link_down", [NODE], today="2026-02-01") == new
    late = match([old], "link_down", [NODE], today="2026-02-01")
    assert late == old and late.result("2026-02-01")["expired"]
    assert words(old._replace(reason="ordered").result("2026-02-01")) == "was accepted until 2026-01-31: ordered"


def test_what_yaml_makes_of_an_entry_is_read() -> None:
    declared = [{"code": "link_down", "link": "leaf1/12", "until": datetime.date(2026, 12, 31), "reason": "ordered"}]
    assert problems("rdma_accepted", declared) == []
    assert entries_of(declared) == (Accepted("link_down", link=("leaf1/12",), until="2026-12-31", reason="ordered"),)


GOOD = {"code": "link_down", "host": "node7", "reason": "ordered"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("all", "rdma_accepted is 'all'; allowed: a list of findings that are accepted"),
        (["link_down"], "rdma_accepted[0] is 'link_down'; allowed: a mapping with the keys code, host, port, link, until, reason"),
        ([{**GOOD, "code": "link_dwn"}], "rdma_accepted[0].code is 'link_dwn'; allowed: the code of a finding, see docs/findings.md (did you mean link_down?)"),
        ([{**GOOD, "until": "2026-13-01"}], "rdma_accepted[0].until is '2026-13-01'; allowed: a date such as 2026-12-31, the last day on which it counts"),
        ([{**GOOD, "until": "20261231"}], "rdma_accepted[0].until is '20261231'; allowed: a date such as 2026-12-31, the last day on which it counts"),
        ([{**GOOD, "hosts": "x"}], "rdma_accepted[0].hosts is 'x'; allowed: one of the keys code, host, port, link, until, reason"),
        ([{"code": "link_down", "host": "x"}], "rdma_accepted[0].reason is not set; allowed: why it is accepted, for later readers"),
        ([{"code": "link_down", "reason": "x"}], "rdma_accepted[0] is 'link_down'; allowed: one of the keys host, port, link"),
        ([{**GOOD, "port": 10860}], "rdma_accepted[0].port is 10860; allowed: a text"),
        ([{**GOOD, "link": ["leaf1"]}], "rdma_accepted[0].link is ['leaf1']; allowed: one end of the link, or a list of both"),
    ],
)
def test_what_is_wrong_is_named(value: t.Any, expected: str) -> None:
    (problem,) = problems("rdma_accepted", value)
    assert str(problem).startswith(expected)


def test_nothing_is_accepted_of_a_host_that_was_not_checked() -> None:
    (problem,) = problems("rdma_accepted", [{"code": "unchecked", "host": "node2", "reason": "away for repair"}])
    assert problem.variable == "rdma_accepted[0].code" and "--limit '!HOST'" in problem.hint


def test_hosts_that_are_gone() -> None:
    def entry(host: str, code: str = "pending", **more: str) -> dict[str, str]:
        return {"code": code, "host": host, "reason": "known", **more}

    hosts = ["node1", "node2.cluster"]
    known = [entry("node1"), entry("NODE2"), entry("node2.cluster"), entry("gpu*"), entry("leaf1", "link_slower"), {"code": "pending"}, None, 7]
    assert gone("rdma_accepted", known, hosts, codes={"pending"}) == []
    assert gone("rdma_accepted", [*known, entry("node3")], hosts, codes={"pending"}) == [
        "rdma_accepted[8].host is 'node3', and no host of the inventory has that name: if it has left or was renamed, remove or correct the entry"
    ]
    assert gone("rdma_accepted", "x", hosts, codes={"pending"}) == []
