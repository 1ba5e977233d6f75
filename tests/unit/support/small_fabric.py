# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small fabric in the form of ib_fabric_info's result, in which tests cause faults."""

from __future__ import annotations

import copy
import typing as t

Data = t.Dict[str, t.Any]
Plug = t.Tuple[str, int]

# Three leaves with two cables between the first two, a spine above all, and a host on each leaf.
NODES = {"spine": "switch", "leaf1": "switch", "leaf2": "switch", "leaf3": "switch", "node1": "ca", "node2": "ca", "node3": "ca"}
CABLES: list[tuple[Plug, Plug]] = [
    (("leaf1", 1), ("node1", 1)),
    (("leaf2", 1), ("node2", 1)),
    (("leaf3", 1), ("node3", 1)),
    (("leaf1", 5), ("leaf2", 5)),
    (("leaf1", 6), ("leaf2", 6)),
    (("leaf1", 7), ("spine", 1)),
    (("leaf2", 7), ("spine", 2)),
    (("leaf3", 7), ("spine", 3)),
]


def guid(name: str) -> str:
    return "0x" + name.encode().hex().rjust(16, "0")[-16:]


def data(nodes: t.Mapping[str, str] | None = None, cables: t.Sequence[tuple[Plug, Plug]] = tuple(CABLES), **more: t.Any) -> Data:
    """Return the fabric. All links are 4X EDR, the maximum of both ends."""
    rows = []
    for name, kind in (NODES if nodes is None else nodes).items():
        rows.append(
            {
                "guid": guid(name),
                "type": kind,
                "name": name,
                "description": name,
                "port_count": 36 if kind == "switch" else 1,
                "system_guid": guid(name),
                "vendor_id": "0x2c9",
                "device_id": "0xd2f0" if kind == "switch" else "0x1017",
                "port_guid": guid(name) if kind == "switch" else "",
                "lids": [],
                "firmware": "",
                "psid": "",
            }
        )

    def end(plug: Plug, peer: Plug) -> Data:
        link = {"state": "Active", "phys_state": "LinkUp", "width": "4X", "speed": "EDR", "lid": 1, "lmc": 0}
        return {"node_guid": guid(plug[0]), "name": plug[0], "port": plug[1], "port_guid": guid(plug[0]), **link, **_peer(peer)}

    ends = [(end(one, other), end(other, one)) for one, other in cables]
    return {
        "nodes": rows,
        "ports": [port for pair in ends for port in pair],
        "links": [{"ends": list(pair), "max_width": "4X", "max_speed": "EDR", "degraded": False} for pair in ends],
        "subnet_managers": [{"port_guid": guid("node1"), "name": "node1 mlx5_0", "lid": 1, "priority": 14, "state": "MASTER", "activity": 1}],
        "partitions": [],
        "multicast_groups": [],
        "totals": {"switches": 4, "cas": 3, "routers": 0, "ports": 0, "links": len(cables), "degraded": 0},
        "problems": [],
        **more,
    }


def _peer(peer: Plug) -> Data:
    return {"peer_node_guid": guid(peer[0]), "peer_port": peer[1]}


def recabled(*pairs: tuple[int, tuple[Plug, Plug] | None]) -> Data:
    """Return the fabric with the cables of these numbers replaced; None unplugs one, and a number after the last adds one."""
    cables: list[tuple[Plug, Plug] | None] = [*copy.copy(CABLES)]
    for number, cable in pairs:
        cables[number : number + 1] = [cable]
    return data(cables=[cable for cable in cables if cable])


def without(*names: str) -> Data:
    """Return the fabric without these nodes."""
    nodes = {name: kind for name, kind in NODES.items() if name not in names}
    return data(nodes, [(one, other) for one, other in CABLES if one[0] in nodes and other[0] in nodes])
