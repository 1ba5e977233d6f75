# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parsing a large fabric: four times the hosts take about four times as long."""

from __future__ import annotations

import functools
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import cable, picture_of
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._choice import Filter
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health._judge import Expected, Rule
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health._report import findings_of
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._report import read_fabric, shown
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ib_fabric_info import OPTIONS
from support import large_fabric

DEFAULTS = {name: option.get("default") for name, option in OPTIONS.items()}
HOSTS = 150
TIMES = 4
# With quadratic growth, it takes sixteen times as long.
TOO_MUCH = 9
# On a machine that also emulates processors, the larger fabric may be unlucky several times.
ATTEMPTS = (1, 1, 2, 3, 3, 3, 3, 3)


def data(tools: large_fabric.Tools) -> dict[str, t.Any]:
    return shown(read_fabric(tools, Port("mlx5_0/1", "mlx5_0", 1), {**DEFAULTS, "node_name_map": "/nowhere"}), Filter())


def test_all_of_a_large_fabric_is_there() -> None:
    fabric = large_fabric.fat_tree(HOSTS)
    found = data(large_fabric.Tools(fabric))
    assert found["problems"] == []
    assert (found["totals"]["cas"], found["totals"]["links"], found["totals"]["degraded"]) == (HOSTS, len(fabric.links) // 2, 0)
    assert found["totals"]["ports"] == sum(len(fabric.ports(node)) for node in range(len(fabric.names)))
    assert len(found["nodes"]) == len(fabric.names) == found["totals"]["cas"] + found["totals"]["switches"]
    assert len(found["multicast_groups"][0]["members"]) == HOSTS
    assert len(found["partitions"][0]["full"]) == len(fabric.names)


def judged(found: dict[str, t.Any]) -> int:
    """Return the number of findings if each cable ended at the next one's port in the baseline: all of them form one ring."""
    now = picture_of(found)
    cables = list(now.cables)
    before = now._replace(cables={cable(one.near, other.far): now.cables[one] for one, other in zip(cables, cables[1:] + cables[:1])})
    hosts = tuple("node%d" % number for number in range(found["totals"]["cas"] + 1))
    return len(findings_of(found, Expected(hosts=hosts, managers=("node0",), rules=(Rule("leaf1", 0, "4X"),)), before))


def seconds(work: t.Callable[[], t.Any], tries: int) -> float:
    """Return the minimum of several measurements: other load on the machine only adds time. Too few measurements of the large fabric only raise the ratio."""
    found = []
    for _count in range(tries):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def grows_beyond(limit: float, work: t.Callable[[t.Any], t.Any], small: t.Any, large: t.Any) -> bool:
    return not any(seconds(functools.partial(work, large), count) < limit * seconds(functools.partial(work, small), 2 * count) for count in ATTEMPTS)


def test_time_grows_with_the_number_of_nodes() -> None:
    # In smaller fabrics, most ports belong to switches without hosts, and their number hardly grows.
    small, large = (large_fabric.fat_tree(hosts) for hosts in (HOSTS * 8, HOSTS * 8 * TIMES))
    tools = [large_fabric.Tools(fabric) for fabric in (small, large)]
    limit = TOO_MUCH * len(large.names) / len(small.names) / TIMES
    assert not grows_beyond(limit, data, *tools)


def test_time_to_judge_grows_with_the_number_of_links() -> None:
    found = [data(large_fabric.Tools(large_fabric.fat_tree(hosts))) for hosts in (HOSTS, HOSTS * TIMES)]
    # One for each cable, and one for the missing host.
    assert [judged(each) for each in found] == [each["totals"]["links"] + 1 for each in found]
    links = [each["totals"]["links"] for each in found]
    limit = TOO_MUCH * links[1] / links[0] / TIMES
    assert not grows_beyond(limit, judged, *found)
