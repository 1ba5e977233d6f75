# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node is made of: the description that the emulation inside its container is built from. Pure."""

from __future__ import annotations

import typing as t

from ._topology import Device, Node


class Model(t.NamedTuple):
    driver: str
    psid: str
    firmware: str
    part_number: str


# By PCI device id. The PSIDs and versions are those of real cards.
MODELS = {
    0x1003: Model("mlx4_core", "MT_1090110019", "2.42.5000", "MCX354A-FCBT"),
    0x1013: Model("mlx5_core", "MT_2190110032", "12.28.2006", "MCX455A-ECAT"),
    0x1017: Model("mlx5_core", "MT_0000000008", "16.35.2000", "MCX556A-ECAT"),
    0x101B: Model("mlx5_core", "MT_0000000223", "20.37.1014", "MCX653105A-HDAT"),
    0x1021: Model("mlx5_core", "MT_0000000838", "28.38.1002", "MCX75310AAS-NEAT"),
}
USUAL = 0x1017


def device_names(node: Node) -> tuple[str, ...]:
    """C(mlx5_0), C(mlx5_1), C(mlx4_0): numbered for each driver."""
    seen: dict[str, int] = {}
    names = []
    for hca in node.hcas:
        stem = _model(hca).driver.partition("_")[0]
        names.append("%s_%d" % (stem, seen.get(stem, 0)))
        seen[stem] = seen.get(stem, 0) + 1
    return tuple(names)


def port_names(node: Node) -> tuple[str, ...]:
    """C(mlx5_0/1), the notation of the rdma tool: every port that has a cable."""
    return tuple("%s/%d" % (name, link.port) for name, hca in zip(device_names(node), node.hcas) for link in hca.links)


def description(node: Node, simulator: str, kernel: str) -> dict[str, t.Any]:
    """The content of C(/etc/lab/node.json)."""
    netdevs = iter(range(1000))
    return {
        "name": node.name,
        "simulator": simulator,
        "kernel": kernel,
        "network": node.network,
        "hcas": [_hca(index, name, hca, netdevs) for index, (name, hca) in enumerate(zip(device_names(node), node.hcas))],
    }


def _hca(index: int, name: str, hca: Device, netdevs: t.Iterator[int]) -> dict[str, t.Any]:
    model = _model(hca)
    return {
        "device": name,
        "driver": model.driver,
        # The second adapter sits on the second socket, as in most two-socket machines.
        "pci": "0000:%02x:00.0" % (0x03 + 0x80 * (index % 2) + index // 2),
        "type": "MT%d" % (hca.device_id if hca.device_id in MODELS else USUAL),
        "psid": model.psid,
        "firmware": model.firmware,
        "part_number": model.part_number,
        "node_guid": "0x%016x" % hca.guid,
        "numa_node": index % 2,
        # The mlx5 driver gives IPoIB its own "enhanced" netdev, which has no connected mode.
        "connected_capable": model.driver == "mlx4_core",
        "ports": [
            {"port": port, "port_guid": "0x%016x" % hca.port_guid(port), "node_description": hca.description, "netdev": "ib%d" % next(netdevs)}
            for port in range(1, hca.ports + 1)
        ],
    }


def _model(hca: Device) -> Model:
    return MODELS.get(hca.device_id, MODELS[USUAL])
