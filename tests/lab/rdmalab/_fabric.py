# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fabric of a lab: shows its links and injects faults."""

from __future__ import annotations

import re

from . import _network
from ._cluster import running_topology
from ._docker import docker, inspect
from ._hardware import device_names, port_names
from ._say import LabError
from ._settings import Settings
from ._topology import Node

_SIMULATOR = ("/usr/bin/python3", "/opt/lab/sim/main.py")
_UMAD2SIM = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"


def console(settings: Settings, *words: str) -> str:
    """Run one command of the simulator's console and return its output."""
    return docker("exec", settings.simulator, *_SIMULATOR, *words)


def console_targets(node: Node, port: str = "") -> tuple[str, ...]:
    """Return the node's cabled ports (or the one named like mlx5_0/1) in the syntax of the simulator's console."""
    known = port_names(node)
    if port and port not in known:
        raise LabError("%s has no cabled port '%s'. It has: %s." % (node.name, port, ", ".join(known)))
    ends = [(name, hca, link.port) for name, hca in zip(device_names(node), node.hcas) for link in hca.links]
    return tuple('"%s"[%d]' % (hca.node_id, number) for name, hca, number in ends if port in ("", "%s/%d" % (name, number)))


def first_port(node: Node) -> str:
    if not port_names(node):
        raise LabError("%s has no cabled port." % node.name)
    return port_names(node)[0]


def set_links(settings: Settings, node: Node, up: bool, port: str = "") -> list[str]:
    """Unplug or plug the cables of a node. Returns the simulator's answers for links that already were in that state."""
    answers = [console(settings, "ReLink" if up else "Unlink", target) for target in console_targets(node, port)]
    # "# no previous link stored", "# port 1 at nodeid ... is not linked": already in that state.
    return [answer.strip("# \n") for answer in answers if answer.lstrip().startswith("#")]


def slow(settings: Settings, milliseconds: float) -> None:
    console(settings, "slow", "%g" % milliseconds)


def link_table(settings: Settings, everything: bool = False) -> str:
    """Return the output of iblinkinfo, from the first node that has it, else from the simulator's container."""
    topology = running_topology(settings)
    found = inspect([settings.container(node.name) for node in topology.nodes])
    for node in topology.nodes:
        container = settings.container(node.name)
        running = found.get(container, {}).get("State", {}).get("Running")
        # Fails on a node without diagnostics or without ib_umad loaded.
        table = docker("exec", container, "sh", "-c", "iblinkinfo 2>/dev/null", check=False) if running else ""
        if table:
            text = "# iblinkinfo on %s\n%s" % (node.name, table)
            break
    else:
        server = _network.address(_network.subnet_of(settings), 0)
        environment = ["--env", "LD_PRELOAD=" + _UMAD2SIM, "--env", "IBSIM_SERVER_NAME=" + server, "--env", "SIM_HOST=" + topology.nodes[0].hcas[0].node_id]
        text = "# iblinkinfo beside the simulator, at the port of %s: no node can run it yet\n" % topology.nodes[0].name
        text += docker("exec", *environment, settings.simulator, "iblinkinfo")
    return text if everything else without_empty_ports(text)


def without_empty_ports(text: str) -> str:
    """Return the lines of iblinkinfo without those of unplugged switch ports."""
    return "".join(line + "\n" for line in text.splitlines() if not re.search(r'==>\s+\[\s*\]\s+""', line))
