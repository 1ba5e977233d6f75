# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replace the adapters of a node by others of the same models, in the same slots and with the same cables: only their GUIDs differ."""

from __future__ import annotations

import json
import re

from . import _cluster, _network
from ._docker import docker, files
from ._hardware import description, read
from ._settings import Settings
from ._topology import Node

# The distance of the new GUIDs from the old ones. No topology has adapters so far apart.
_STEP = 0x10000000


def swapped(text: str, node: Node) -> str:
    """Return the topology with other GUIDs of a node's adapters."""
    guids = {guid for hca in node.hcas for guid in (hca.guid, hca.system_guid, *(hca.port_guid(port) for port in range(1, hca.ports + 1))) if guid}

    def moved(match: re.Match[str]) -> str:
        digits = match[0]
        return "%0*x" % (len(digits), int(digits, 16) + _STEP) if int(digits, 16) in guids else digits

    return re.sub(r"(?<![0-9a-fA-F])[0-9a-fA-F]{5,16}(?![0-9a-fA-F])", moved, text)


def swap(settings: Settings, name: str) -> Node:
    """Swap the adapters, and boot the node with the new ones. The simulator restarts with it: all switches lose power at once."""
    text = swapped(settings.topology.read_text(encoding="utf-8"), _cluster.node_named(settings, name))
    node = next(each for each in read(text, "the new topology").nodes if each.name == name)
    container = settings.container(name)
    kernel = json.loads(docker("exec", container, "cat", "/etc/lab/node.json"))["kernel"]
    simulator = _network.address(_network.subnet_of(settings), 0)
    docker("cp", "-", settings.simulator + ":/", stdin=files({"/etc/lab/fabric.topo": text}))
    docker("cp", "-", container + ":/", stdin=files({"/etc/lab/node.json": json.dumps(description(node, simulator, kernel), indent=2) + "\n"}))
    settings.topology.write_text(text, encoding="utf-8")
    _cluster.restart(settings, [node], True)
    return node
