# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fabric as a file in the format of ibnetdiscover, which the simulator reads too. Pure: text in, tuples out.

The file is the only source of truth: it has names, GUIDs, adapter models and cabling. Comments hold what ibnetdiscover does not know about a node: `# lab NODE
network=ifupdown`, `# lab NODE/mlx5_0 firmware=16.35.3006`.
"""

from __future__ import annotations

import re
import typing as t

from ._say import LabError

_ASSIGNMENT = re.compile(r"^(vendid|devid|sysimgguid|switchguid|caguid)=(0x[0-9a-fA-F]+|\d+)")
_DEVICE = re.compile(r'^(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"(?:\s*#\s*(?:"([^"]*)"|(\S+)))?')
_LINK = re.compile(r'^\[(\d+)\](?:\(([0-9a-fA-F]+)\))?\s+"([^"]+)"\[(\d+)\]')
_RATE = re.compile(r"\blid\s+\d+\s+(\d+x[A-Z]+\d*)\s*$")
_ATTRIBUTES = re.compile(r"^#\s*lab\s+(\S+)\s+(.+)$")
# Descriptions that name a product instead of a host.
_NAMELESS = re.compile(r"^(MT\d+|Mellanox|ConnectX|NVIDIA|Aggregation)", re.IGNORECASE)

# The first is the default; all but the first two are for virtual machines only.
NETWORKS = ("networkd", "ifupdown", "networkmanager", "netplan", "netplan-nm", "ifcfg")
SUITES = ("bookworm", "trixie", "bullseye")
# A host without a container is only part of the fabric: its ports respond, but it has no login.
_ALLOWED = {"network": NETWORKS, "suite": SUITES, "container": ("yes", "no")}
FABRIC = "fabric"
"""Used in place of a host name for attributes of the whole fabric."""
# The manager of virtual machines' ports: their driver, or opensm on the simulated fabric, as for all containers.
_ALLOWED_OF_FABRIC = {"manager": ("driver", "opensm"), "mtu": ("2048", "4096")}


class Link(t.NamedTuple):
    port: int
    peer: str
    """Node ID of the peer, such as S-0002c90300f00010."""
    peer_port: int
    rate: str
    """Rate such as 4xEDR; "" if the file gives none."""


class Device(t.NamedTuple):
    kind: str
    """Switch or Ca."""
    node_id: str
    guid: int
    device_id: int
    """PCI device ID, 0 if the file gives none."""
    ports: int
    description: str
    links: tuple[Link, ...]
    system_guid: int = 0
    """System image GUID, shared by the functions of one card; 0 if the file gives none."""

    def port_guid(self, port: int) -> int:
        """Return the port GUID by the simulator's rule, whatever the file says."""
        return self.guid if self.kind == "Switch" else self.guid + port


class Node(t.NamedTuple):
    """A host with its adapters, in the order of the file."""

    name: str
    network: str
    hcas: tuple[Device, ...]
    suite: str = ""
    """Debian suite; "" for the lab's default."""
    adapters: t.Mapping[str, t.Mapping[str, str]] = {}
    """Attributes of single adapters by device name, as written in the file."""


class Topology(t.NamedTuple):
    devices: tuple[Device, ...]
    nodes: tuple[Node, ...]
    fabric: t.Mapping[str, str] = {}
    """Attributes of the whole fabric, as written in the file."""

    @property
    def simulated(self) -> bool:
        """Return whether virtual machines are on the simulated fabric too, with a real subnet manager."""
        return self.fabric.get("manager") == "opensm"

    @property
    def switches(self) -> tuple[Device, ...]:
        return tuple(device for device in self.devices if device.kind == "Switch")


def parse(text: str, source: str = "topology") -> Topology:
    """Parse a topology. Raises LabError with all problems of the file."""
    devices: list[Device] = []
    attributes: dict[str, dict[str, str]] = {}
    pending: dict[str, int] = {}
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _ATTRIBUTES.match(line):
            for key, _equals, value in (word.partition("=") for word in match[2].split()):
                if attributes.setdefault(match[1], {}).setdefault(key, value) != value:
                    problems.append("line %d: %s of %s is %s here and %s before" % (number, key, match[1], value, attributes[match[1]][key]))
        elif match := _ASSIGNMENT.match(line):
            pending[match[1]] = int(match[2], 0)
        elif match := _DEVICE.match(line):
            kind = {"Hca": "Ca"}.get(match[1], match[1])
            guid = pending.get("switchguid" if kind == "Switch" else "caguid")
            if guid is None:
                problems.append(
                    "line %d: %s has no %s= line before it: the lab needs its GUID" % (number, match[3], "switchguid" if kind == "Switch" else "caguid")
                )
            devices.append(
                Device(kind, match[3], guid or 0, pending.get("devid", 0), int(match[2]), match[4] or match[5] or match[3], (), pending.get("sysimgguid", 0))
            )
            pending = {}
        elif match := _LINK.match(line):
            if not devices:
                problems.append("line %d: a link before the first Switch or Ca" % number)
                continue
            rate = _RATE.search(line)
            link = Link(int(match[1]), match[3], int(match[4]), rate[1] if rate else "")
            devices[-1] = devices[-1]._replace(links=(*devices[-1].links, link))
    adapters = {name: attributes.pop(name) for name in list(attributes) if "/" in name}
    fabric = attributes.pop(FABRIC, {})
    problems += _unknown(FABRIC, fabric, _ALLOWED_OF_FABRIC)
    problems += _wrong(devices, attributes)
    nodes = tuple(node._replace(adapters=_of_host(node.name, adapters)) for node in _nodes(devices, attributes))
    if not nodes:
        problems.append("no host: not one Ca with a name in it")
    hosts = {node.name for node in nodes}
    problems += ["'# lab %s' names a host that is not in the file" % name for name in (*attributes, *adapters) if name.partition("/")[0] not in hosts]
    if problems:
        raise LabError("%s is not usable as a fabric:\n  %s" % (source, "\n  ".join(problems)))
    return Topology(tuple(devices), tuple(node for node in nodes if attributes.get(node.name, {}).get("container") != "no"), fabric)


def _wrong(devices: t.Sequence[Device], attributes: t.Mapping[str, t.Mapping[str, str]]) -> list[str]:
    problems: list[str] = []
    by_id = {device.node_id: device for device in devices}
    ends = {(device.node_id, link.port): (link.peer, link.peer_port) for device in devices for link in device.links}
    guids: dict[int, str] = {}
    for device in devices:
        for guid in range(device.guid, device.guid + (1 if device.kind == "Switch" else device.ports + 1)):
            if device.guid and guids.setdefault(guid, device.node_id) != device.node_id:
                problems.append("GUID 0x%016x belongs to %s and to %s" % (guid, guids[guid], device.node_id))
    for (node_id, port), (peer, peer_port) in ends.items():
        if port > by_id[node_id].ports:
            problems.append("%s has %d ports and a link on port %d" % (node_id, by_id[node_id].ports, port))
        if peer not in by_id:
            problems.append("%s[%d] is linked to %s, which is not in the file" % (node_id, port, peer))
        elif ends.get((peer, peer_port), (node_id, port)) != (node_id, port):
            problems.append("%s[%d] is linked to %s[%d], which is linked to %s[%d]" % (node_id, port, peer, peer_port, *ends[(peer, peer_port)]))
    for name, values in attributes.items():
        problems += _unknown(name, values, _ALLOWED)
    return problems


def _unknown(name: str, values: t.Mapping[str, str], allowed: t.Mapping[str, t.Sequence[str]]) -> list[str]:
    known = " ".join("%s=%s" % (attribute, "|".join(values)) for attribute, values in allowed.items())
    return ["'# lab %s %s=%s': the lab knows %s" % (name, key, value, known) for key, value in values.items() if value not in allowed.get(key, ())]


def _of_host(host: str, adapters: t.Mapping[str, t.Mapping[str, str]]) -> dict[str, t.Mapping[str, str]]:
    return {name.partition("/")[2]: values for name, values in adapters.items() if name.partition("/")[0] == host}


def _nodes(devices: t.Sequence[Device], attributes: t.Mapping[str, t.Mapping[str, str]]) -> tuple[Node, ...]:
    """Group adapters into hosts. The host is the first word of a description: "node1 HCA-1" and "node1 mlx5_1" are two adapters of node1."""
    hosts: dict[str, list[Device]] = {}
    for device in devices:
        if device.kind == "Ca" and "Aggregation Node" not in device.description:
            word = device.description.split()[0] if device.description.split() else ""
            name = re.sub(r"[^a-z0-9-]+", "-", word.partition(".")[0].lower()).strip("-")
            hosts.setdefault("host-%06x" % (device.guid & 0xFFFFFF) if not name or _NAMELESS.match(word) else name, []).append(device)
    found = [(name, attributes.get(name, {}), tuple(hcas)) for name, hcas in hosts.items()]
    return tuple(Node(name, said.get("network", NETWORKS[0]), hcas, said.get("suite", "")) for name, said, hcas in found)
