# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Renders the inventory of a lab. Pure."""

from __future__ import annotations

import pathlib
import typing as t

from ._hardware import port_places
from ._topology import Node, Topology

ADDRESSES = "10.20.%d.%d/%d"


def render_machines(topology: Topology, ssh_ports: t.Mapping[str, int], key: pathlib.Path, options: t.Sequence[str]) -> str:
    """Render an inventory in YAML: all nodes in group rdma, with an address each. On the simulated fabric the first node is in group opensm."""
    lines = [
        "# Written by tests/lab/lab: the virtual machines of the running lab.",
        "---",
        "all:",
        "  vars:",
        "    ansible_host: 127.0.0.1",
        "    ansible_user: root",
        "    ansible_ssh_private_key_file: %s" % key,
        "    ansible_ssh_common_args: %s" % " ".join(options),
        "    ansible_python_interpreter: /usr/bin/python3",
        *([] if topology.simulated else ["    # The subnet is managed by the driver of the adapters.", "    opensm_state: absent"]),
        "  children:",
        "    rdma:",
        "      hosts:",
    ]
    for number, node in enumerate(topology.nodes, 1):
        lines += [
            "        %s:" % node.name,
            "          ansible_port: %d" % ssh_ports[node.name],
            "          ipoib_interfaces:",
            "            - name: ib0",
            "              addresses: [%s]" % (ADDRESSES % (0, number, 24)),
            "              mode: auto",
        ]
    if topology.simulated:
        lines += ["    opensm:", "      hosts:", "        %s:" % topology.nodes[0].name]
    return "\n".join(lines) + "\n"


def render(nodes: t.Sequence[Node], containers: t.Mapping[str, str]) -> str:
    """Render an inventory in YAML: all nodes in group rdma, the first in opensm, one address per node on its first IPoIB interface."""
    prefix = 24 if len(nodes) < 255 else 16
    lines = [
        "# Written by tests/lab/lab: the nodes of the running lab.",
        "---",
        "all:",
        "  vars:",
        "    ansible_connection: community.docker.docker",
        "    ansible_python_interpreter: /usr/bin/python3",
        "  children:",
        "    rdma:",
        "      hosts:",
    ]
    for number, node in enumerate(nodes, 1):
        lines += [
            "        %s:" % node.name,
            "          ansible_host: %s" % containers[node.name],
            "          rdma_ports: [%s]" % ", ".join('"%s"' % place for place in port_places(node)),
            "          ipoib_interfaces:",
            "            - name: ib0",
            "              addresses: [%s]" % (ADDRESSES % (number // 254 if prefix == 16 else 0, number % 254 if prefix == 16 else number, prefix)),
            "              mode: auto",
        ]
    lines += ["    opensm:", "      hosts:", "        %s:" % nodes[0].name]
    return "\n".join(lines) + "\n"
