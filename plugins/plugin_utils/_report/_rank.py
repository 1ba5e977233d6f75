# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rank of each node of a fabric in a drawing: hosts, leaves, spines, cores. Pure, and linear in nodes and cables."""

from __future__ import annotations

import collections
import typing as t

from ...module_utils._fabric._health._judge import AGGREGATION

if t.TYPE_CHECKING:
    from ...module_utils._fabric._baseline import Picture

HOST, LEAF = 0, 1
# A switch with at most this fraction of the usual number of hosts is no leaf because of its hosts alone.
_PART = 4


def peers_of(picture: Picture) -> dict[str, list[str]]:
    """The neighbours of each node in the order of its cables, once per cable."""
    found: dict[str, list[str]] = {guid: [] for guid in picture.nodes}
    for near, far in picture.cables:
        found[near[0]].append(far[0])
        found[far[0]].append(near[0])
    return found


def _leaves(picture: Picture, peers: t.Mapping[str, t.Sequence[str]]) -> list[str]:
    """The leaves. A single host does not make a spine a leaf, and a leaf with few hosts is still one."""
    hosts = {guid for guid, node in picture.nodes.items() if node.type != "switch" and AGGREGATION not in node.description}
    counts = {guid: sum(peer in hosts for peer in peers[guid]) for guid, node in picture.nodes.items() if node.type == "switch"}
    with_hosts = sorted(count for count in counts.values() if count)
    usual = with_hosts[len(with_hosts) // 2] if with_hosts else 0
    sure = {guid for guid, count in counts.items() if _PART * count > usual}
    return [guid for guid, count in counts.items() if guid in sure or (count and not sure.intersection(peers[guid]))]


def ranks_of(picture: Picture) -> dict[str, int]:
    """Ranks by node GUID: 0 for other nodes than switches, 1 for leaves, 2 for switches next to leaves, and so on."""
    peers = peers_of(picture)
    ranks = {guid: HOST for guid, node in picture.nodes.items() if node.type != "switch"}
    todo = collections.deque(_leaves(picture, peers))
    ranks.update(dict.fromkeys(todo, LEAF))
    while todo:
        guid = todo.popleft()
        for peer in peers[guid]:
            if peer not in ranks:
                ranks[peer] = ranks[guid] + 1
                todo.append(peer)
    return {guid: ranks.get(guid, LEAF) for guid in picture.nodes}
