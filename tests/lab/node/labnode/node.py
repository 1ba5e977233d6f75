# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Description of a lab node: /etc/lab/node.json, which the lab writes for each container."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

NODE_FILE = "/etc/lab/node.json"

# The core driver binds the PCI function; its RDMA driver registers the device.
RDMA_DRIVERS = {"mlx5_core": "mlx5_ib", "mlx4_core": "mlx4_ib"}


class Port(NamedTuple):
    """One port of an HCA. node_description: the node's name in the simulator."""

    number: int
    guid: int
    node_description: str
    netdev: str


class Hca(NamedTuple):
    """One adapter. guid: node GUID. The functions of a card share system_guid; the settings of the card belong to its first function."""

    device: str
    driver: str
    pci: str
    type: str
    psid: str
    firmware: str
    part_number: str
    guid: int
    numa_node: int
    connected_capable: bool
    ports: tuple[Port, ...]
    system_guid: int
    settings: Mapping[str, Mapping[str, str]]


class Node(NamedTuple):
    name: str
    simulator: str
    kernel: str
    hcas: tuple[Hca, ...]


def _port(data: dict[str, Any]) -> Port:
    return Port(int(data["port"]), int(data["port_guid"], 16), data["node_description"], data["netdev"])


def _hca(data: dict[str, Any]) -> Hca:
    if data["driver"] not in RDMA_DRIVERS:
        raise ValueError("%s: driver %r, known are %s" % (data["device"], data["driver"], ", ".join(sorted(RDMA_DRIVERS))))
    return Hca(
        device=data["device"],
        driver=data["driver"],
        pci=data["pci"],
        type=data["type"],
        psid=data["psid"],
        firmware=data["firmware"],
        part_number=data["part_number"],
        guid=int(data["node_guid"], 16),
        numa_node=int(data.get("numa_node", 0)),
        connected_capable=bool(data.get("connected_capable", False)),
        ports=tuple(_port(port) for port in data["ports"]),
        system_guid=int(data.get("sys_image_guid", data["node_guid"]), 16),
        settings=data.get("settings", {}),
    )


def parse_node(text: str) -> Node:
    """Parse the text of node.json. Raises KeyError or ValueError if it does not have the agreed form."""
    data = json.loads(text)
    return Node(data["name"], data["simulator"], data["kernel"], tuple(_hca(hca) for hca in data["hcas"]))


def read_node(path: str = NODE_FILE) -> Node:
    with open(path, encoding="utf-8") as stream:
        return parse_node(stream.read())
