# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hardware of a node: the description from which its container emulates it. Pure."""

from __future__ import annotations

import typing as t

from ._adapters import Own, cards, parse_own, problems_of_cards
from ._say import LabError
from ._topology import Device, Node, Topology, parse


class Model(t.NamedTuple):
    driver: str
    psid: str
    firmware: str
    part_number: str


# By PCI device ID. PSIDs and versions are those of real cards.
MODELS = {
    0x1003: Model("mlx4_core", "MT_1090110019", "2.42.5000", "MCX354A-FCBT"),
    0x1013: Model("mlx5_core", "MT_2190110032", "12.28.2006", "MCX455A-ECAT"),
    0x1017: Model("mlx5_core", "MT_0000000008", "16.35.2000", "MCX556A-ECAT"),
    0x101B: Model("mlx5_core", "MT_0000000223", "20.37.1014", "MCX653105A-HDAT"),
    0x1021: Model("mlx5_core", "MT_0000000838", "28.38.1002", "MCX75310AAS-NEAT"),
}
USUAL = 0x1017


def read(text: str, source: str = "topology") -> Topology:
    """Parse a topology whose hosts can be built. Raises LabError with all problems of their adapters."""
    topology = parse(text, source)
    problems = [problem for node in topology.nodes for problem in _problems(node)]
    if problems:
        raise LabError("%s is not usable as hardware:\n  %s" % (source, "\n  ".join(problems)))
    return topology


def _problems(node: Node) -> list[str]:
    names = device_names(node)
    problems = problems_of_cards(node.name, names, node.hcas)
    places = dict(zip(names, cards(node.hcas)))
    for name, attributes in node.adapters.items():
        line = "'# lab %s/%s': " % (node.name, name)
        if name not in names:
            problems.append("%s%s has no such adapter, only %s" % (line, node.name, ", ".join(names)))
            continue
        own, wrong = parse_own(attributes)
        problems += [line + problem for problem in wrong]
        card, function = places[name]
        if function:
            first = next(other for other, place in places.items() if place == (card, 0))
            problems.append("%sit is a function of the same card as %s: say it of that one" % (line, first))
        if own.settings and name.startswith("mlx4"):
            problems.append("%sthe configuration of a ConnectX-3 is not emulated" % line)
    return problems


def device_names(node: Node) -> tuple[str, ...]:
    """Return mlx5_0, mlx5_1, mlx4_0: numbered per driver."""
    seen: dict[str, int] = {}
    names = []
    for hca in node.hcas:
        stem = _model(hca).driver.partition("_")[0]
        names.append("%s_%d" % (stem, seen.get(stem, 0)))
        seen[stem] = seen.get(stem, 0) + 1
    return tuple(names)


def port_names(node: Node) -> tuple[str, ...]:
    """Return every cabled port in the notation of the rdma tool: mlx5_0/1."""
    return tuple("%s/%d" % (name, link.port) for name, hca in zip(device_names(node), node.hcas) for link in hca.links)


def address(place: tuple[int, int]) -> str:
    """Return the PCI address of a function of a card. The second card is on the second socket, as in most two-socket machines."""
    card, function = place
    return "0000:%02x:00.%d" % (0x03 + 0x80 * (card % 2) + card // 2, function)


def port_places(node: Node) -> tuple[str, ...]:
    """Return the ports of port_names as 0000:03:00.0/1, which stays valid when udev renames devices."""
    return tuple("%s/%d" % (address(place), link.port) for place, hca in zip(cards(node.hcas), node.hcas) for link in hca.links)


def description(node: Node, simulator: str, kernel: str) -> dict[str, t.Any]:
    """Return the content of /etc/lab/node.json."""
    netdevs = iter(range(1000))
    names, places = device_names(node), cards(node.hcas)
    own = {places[names.index(name)][0]: parse_own(attributes)[0] for name, attributes in node.adapters.items()}
    return {
        "name": node.name,
        "simulator": simulator,
        "kernel": kernel,
        "network": node.network,
        "hcas": [_hca(place, name, hca, own.get(place[0], Own()), netdevs) for place, name, hca in zip(places, names, node.hcas)],
    }


def _hca(place: tuple[int, int], name: str, hca: Device, own: Own, netdevs: t.Iterator[int]) -> dict[str, t.Any]:
    model = _model(hca)
    card, function = place
    return {
        "device": name,
        "driver": model.driver,
        "pci": address(place),
        "type": "MT%d" % (hca.device_id if hca.device_id in MODELS else USUAL),
        "psid": own.psid or model.psid,
        "firmware": own.firmware or model.firmware,
        "part_number": model.part_number,
        "node_guid": "0x%016x" % hca.guid,
        "sys_image_guid": "0x%016x" % (hca.system_guid or hca.guid),
        "numa_node": card % 2,
        # The mlx5 driver gives IPoIB its own "enhanced" netdev, which has no connected mode.
        "connected_capable": model.driver == "mlx4_core",
        "ports": [
            {"port": port, "port_guid": "0x%016x" % hca.port_guid(port), "node_description": hca.description, "netdev": "ib%d" % next(netdevs)}
            for port in range(1, hca.ports + 1)
        ],
        **({"settings": {column: dict(values) for column, values in own.settings.items()}} if own.settings and not function else {}),
    }


def _model(hca: Device) -> Model:
    return MODELS.get(hca.device_id, MODELS[USUAL])
