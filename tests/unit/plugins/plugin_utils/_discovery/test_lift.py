# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Reference, Value
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._lift import Outlier, Placed, Site, place
from hypothesis import given
from hypothesis import strategies as st

HOSTS = ["node%d" % number for number in range(1, 11)]
SITE = Site("rdma", HOSTS, {"gpu": HOSTS[:4], "opensm": HOSTS[2:5]}, {"mtu": 2048})


def own(value: t.Any, hosts: t.Iterable[str], variable: str = "mtu") -> dict[str, list[Value]]:
    return {host: [Value(variable, value, "of %s" % host)] for host in hosts}


def effective(placed: Placed, site: Site, host: str, variable: str) -> t.Any:
    found = site.defaults.get(variable)
    for name, members in {site.top: site.hosts, **site.groups}.items():
        found = next((each.value for each in placed.groups.get(name, ()) if each.variable == variable and host in members), found)
    return next((each.value for each in placed.hosts.get(host, ()) if each.variable == variable), found)


def test_what_all_share_goes_to_all() -> None:
    placed = place(own(4092, HOSTS), SITE)
    assert placed == Placed({"rdma": [Value("mtu", 4092, "of node1 (node1; the same value on 9 hosts, from other sources)")]}, {}, [])


def test_a_source_is_named_with_the_hosts_that_have_it() -> None:
    file, kernel = Value("mtu", 4092, "/etc/site.conf line 2"), Value("mtu", 4092, "the kernel")
    (alike,) = place({host: [kernel] for host in HOSTS}, SITE).groups["rdma"]
    assert alike.source == "the kernel (10 hosts)"
    (mixed,) = place({host: [file if host in HOSTS[:3] else kernel] for host in HOSTS}, SITE).groups["rdma"]
    assert mixed.source == "/etc/site.conf line 2 (3 hosts; the same value on 7 hosts, from other sources)"


def test_a_default_is_not_written_unless_that_is_wanted() -> None:
    assert place(own(2048, HOSTS), SITE) == Placed({}, {}, [])
    assert place(own(2048, HOSTS), SITE._replace(explicit=True)).groups["rdma"][0].value == 2048


def test_what_a_group_shares_goes_to_the_group() -> None:
    placed = place(own(4092, HOSTS[2:5]), SITE)
    assert list(placed.groups) == ["opensm"] and placed.hosts == {}


def test_a_group_for_one_concern_gets_nothing_else() -> None:
    site = SITE._replace(reserved=("opensm",))
    assert list(place(own("x", HOSTS[2:5], "opensm_x"), site).groups) == ["opensm"]
    assert place(own(4092, HOSTS[2:5]), site).groups == {}


def test_a_few_that_differ_override_it() -> None:
    placed = place({**own(4092, HOSTS[:8]), **own(65520, HOSTS[8:9])}, SITE)
    assert placed.groups["rdma"][0].value == 4092
    assert {host: values[0].value for host, values in placed.hosts.items()} == {"node9": 65520, "node10": 2048}
    assert placed.outliers == [Outlier("mtu", "rdma", 4092, ["node9"], 65520), Outlier("mtu", "rdma", 4092, ["node10"], 2048)]


def test_without_a_default_nothing_overrides_it() -> None:
    placed = place(own(4092, HOSTS[:9], "other"), SITE)
    assert placed.groups == {"gpu": placed.groups["gpu"]} and set(placed.hosts) == set(HOSTS[4:9])


def test_a_reference_and_a_list_of_its_name_differ() -> None:
    placed = place({**own(Reference("x"), HOSTS[:1]), **own(["x"], HOSTS[1:2])}, SITE)
    assert placed.groups == {} and len(placed.hosts) == 2


@given(st.lists(st.sampled_from([None, 2048, 4092, 65520]), min_size=len(HOSTS), max_size=len(HOSTS)))
def test_each_host_gets_what_it_has(found: list[int | None]) -> None:
    placed = place({host: [Value("mtu", value, "")] if value else [] for host, value in zip(HOSTS, found)}, SITE)
    assert [effective(placed, SITE, host, "mtu") for host in HOSTS] == [value or 2048 for value in found]


def test_a_thousand_hosts() -> None:
    def seconds(number: int) -> float:
        hosts = ["node%d" % each for each in range(number)]
        groups = {"rack%d" % rack: hosts[rack::20] for rack in range(20)}
        values = {host: [Value("v%d" % each, each, "") for each in range(20)] + [Value("address", host, "")] for host in hosts}
        begun = time.process_time()
        placed = place(values, Site("rdma", hosts, groups, {}))
        assert len(placed.groups["rdma"]) == 20 and len(placed.hosts) == number
        return time.process_time() - begun

    assert min(seconds(1000) for _try in range(3)) < 30 * max(0.005, min(seconds(100) for _try in range(3)))


def test_one_host_with_another_source_is_one_host() -> None:
    (shared,) = place(own(4092, HOSTS[:2]), Site("rdma", HOSTS[:2], {}, {})).groups["rdma"]
    assert shared.source == "of node1 (node1; the same value on 1 host, from another source)"
