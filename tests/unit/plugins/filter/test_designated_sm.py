# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.ofed.plugins.filter.designated_sm import FilterModule

designated_sm = FilterModule().filters()["designated_sm"]

GROUPS = {"rdma": ["node1", "node2", "node3"], "opensm": ["node2", "node3"]}


def test_the_host_of_a_fabric() -> None:
    assert list(FilterModule().filters()) == ["designated_sm"]
    assert designated_sm(GROUPS, {"node2": {}, "node3": {}}) == "node2"
    assert designated_sm(GROUPS, {"node2": {}, "node3": {"opensm_rank": 1}}, "ib") == "node3"
    assert designated_sm(GROUPS, {"node2": {}, "node3": {"fabric": "storage"}}, "storage") == "node3"


@pytest.mark.parametrize(
    ("groups", "hostvars", "fabric", "text"),
    [
        ({"opensm": []}, {}, "ib", "group opensm is []"),
        ({}, {}, "ib", "group opensm is []"),
        (GROUPS, {"node2": {"opensm_rank": 1}, "node3": {"opensm_rank": 1}}, "ib", "opensm_rank of node2, node3 is 1"),
        (GROUPS, {"node2": {"opensm_rank": "x"}, "node3": {}}, "ib", "opensm_rank of node2 is 'x'"),
        (GROUPS, {"node2": {}, "node3": {}}, "storage", "at least one host of fabric storage"),
        (GROUPS, {"node2": {}, "node3": {}}, 7, "fabric is 7"),
    ],
)
def test_no_answer_is_better_than_a_wrong_one(groups: dict[str, t.Any], hostvars: dict[str, t.Any], fabric: t.Any, text: str) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        designated_sm(groups, hostvars, fabric)
    assert text in str(caught.value)


def test_a_tie_on_another_fabric_is_not_ours() -> None:
    hostvars = {"node1": {}, "node2": {"fabric": "b", "opensm_rank": 1}, "node3": {"fabric": "b", "opensm_rank": 1}}
    assert designated_sm({"opensm": ["node1", "node2", "node3"]}, hostvars) == "node1"
