# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.plugin_utils._managers import declared as opensm_declared

GROUPS = {"opensm": ["node1", "node2"]}
DECLARED = {"keys": ["routing_engine"], "partitions": {"ib": ""}}


class Known(t.Dict[str, t.Any]):
    """Variables of a large site: reading those of an irrelevant host is an error."""

    def __missing__(self, name: str) -> t.NoReturn:
        raise AssertionError("%s was read" % name)


def test_the_designated_host_is_found_in_the_group() -> None:
    found = opensm_declared(GROUPS, {"node1": {"opensm_routing_engine": "updn"}, "node2": {}, "node3": {}}, host="node3")
    assert found == DECLARED


def test_where_the_designated_host_is_known_no_other_is_read() -> None:
    hostvars = Known(node1={"opensm_routing_engine": "updn"}, node3={})
    assert opensm_declared(GROUPS, hostvars, host="node3", designated={"ib": "node1"}) == DECLARED
    assert opensm_declared(GROUPS, hostvars, host="node3", designated={}) == {"keys": [], "partitions": {}}
