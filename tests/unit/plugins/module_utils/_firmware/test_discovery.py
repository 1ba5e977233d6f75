# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Joined
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._discovery import join


def host(name: str, *versions: str) -> Subject:
    return Subject(name, facts={"hcas": [{"psid": "MT_8", "firmware": version} for version in versions]})


def test_versions_that_differ() -> None:
    found = join([host("node1", "16.35.4030"), host("node2", "16.35.4030"), host("node3", "16.35.2000"), Subject("node4")])
    assert found.dangers == ["adapters with PSID MT_8 have different firmware: 16.35.2000 on node3; 16.35.4030 on node[1-2]"]
    assert [left.what for left in found.left] == ["adapter firmware (MT_8 16.35.2000/16.35.4030)"]


def test_equal_versions_and_none() -> None:
    assert join([host("node1", "1", "1")]).dangers == []
    assert join([Subject("node1")]) == Joined(left=(), dangers=[])
