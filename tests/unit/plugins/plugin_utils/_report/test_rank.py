# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rank of each node in the drawing of a fabric."""

from __future__ import annotations

import itertools

from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import Node, Pace, Picture, cable
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health._judge import AGGREGATION
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._rank import peers_of, ranks_of


def picture(hosts: dict[str, int], links: tuple[tuple[str, str], ...] = (), extra: tuple[Node, ...] = ()) -> Picture:
    """Return switches with these numbers of hosts, and links between nodes."""
    names = {*hosts, *(name for link in links for name in link)} - {node.guid for node in extra}
    nodes = {name: Node(name, "switch", name, name) for name in sorted(names)}
    nodes.update({node.guid: node for node in extra})
    ends = list(links)
    for switch, count in hosts.items():
        for number in range(count):
            host = "%s-host%d" % (switch, number)
            nodes[host] = Node(host, "ca", host, host)
            ends.append((host, switch))
    ports = itertools.count(1)
    return Picture(nodes, {cable((near, next(ports)), (far, next(ports))): Pace("4X", "HDR") for near, far in ends})


def switches(found: dict[str, int]) -> dict[str, int]:
    return {name: rank for name, rank in found.items() if "-" not in name}


def test_switches_with_hosts_are_leaves_and_the_others_follow() -> None:
    links = (("leaf1", "spine1"), ("leaf2", "spine1"), ("spine1", "core1"))
    found = ranks_of(picture({"leaf1": 4, "leaf2": 4}, links))
    assert switches(found) == {"leaf1": 1, "leaf2": 1, "spine1": 2, "core1": 3}
    assert {rank for name, rank in found.items() if "-" in name} == {0}


def test_a_host_on_a_spine_makes_it_no_leaf() -> None:
    links = (("leaf1", "spine1"), ("leaf2", "spine1"), ("leaf3", "spine1"))
    for count, rank in ((1, 2), (2, 2), (3, 1)):
        found = switches(ranks_of(picture({"leaf1": 8, "leaf2": 8, "leaf3": 8, "spine1": count}, links)))
        assert found == {"leaf1": 1, "leaf2": 1, "leaf3": 1, "spine1": rank}, count


def test_switches_without_hosts_do_not_count_for_what_is_usual() -> None:
    links = tuple((leaf, "spine%d" % number) for leaf in ("leaf1", "leaf2") for number in range(1, 6))
    found = switches(ranks_of(picture({"leaf1": 8, "leaf2": 8, "spine1": 1}, links)))
    assert found == {"leaf1": 1, "leaf2": 1, **{"spine%d" % number: 2 for number in range(1, 6)}}


def test_switches_in_a_ring_are_all_leaves() -> None:
    ring = (("leaf1", "leaf2"), ("leaf2", "leaf3"), ("leaf3", "leaf1"))
    assert switches(ranks_of(picture({"leaf1": 2, "leaf2": 2, "leaf3": 2}, ring))) == {"leaf1": 1, "leaf2": 1, "leaf3": 1}


def test_a_leaf_with_few_hosts_stays_one() -> None:
    """It has cables to spines and to no other leaf."""
    links = (("leaf1", "spine1"), ("leaf2", "spine1"), ("leaf3", "spine1"))
    assert switches(ranks_of(picture({"leaf1": 8, "leaf2": 8, "leaf3": 1}, links))) == {"leaf1": 1, "leaf2": 1, "leaf3": 1, "spine1": 2}


def test_the_aggregation_nodes_of_switches_make_no_leaves() -> None:
    sharp = Node("sharp-1", "ca", "x", "Mellanox Technologies " + AGGREGATION)
    found = ranks_of(picture({"leaf1": 2, "leaf2": 2}, (("leaf1", "spine1"), ("leaf2", "spine1"), ("sharp-1", "spine1")), (sharp,)))
    assert switches(found)["spine1"] == 2 and found["sharp-1"] == 0


def test_without_hosts_all_switches_are_in_one_rank() -> None:
    assert ranks_of(picture({}, (("switch1", "switch2"),))) == {"switch1": 1, "switch2": 1}
    # Switches without a cable to the others are in that rank too.
    assert switches(ranks_of(picture({"leaf1": 1}, (("switch1", "switch2"),)))) == {"leaf1": 1, "switch1": 1, "switch2": 1}
    assert ranks_of(Picture()) == {}


def test_a_neighbour_counts_once_for_each_cable() -> None:
    found = peers_of(picture({}, (("switch1", "switch2"), ("switch1", "switch2"), ("switch1", "switch3"))))
    assert found == {"switch1": ["switch2", "switch2", "switch3"], "switch2": ["switch1", "switch1"], "switch3": ["switch1"]}
