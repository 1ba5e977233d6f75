# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The management network: its addresses stay the same for the lifetime of the lab."""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import subprocess
import tempfile
import typing as t

from ._docker import docker
from ._say import LabError
from ._settings import Settings

CANDIDATES = tuple(ipaddress.IPv4Network("172.%d.0.0/22" % second) for second in range(30, 16, -1))
FIRST_NODE = 16
LOCK = os.path.join(tempfile.gettempdir(), "rdmalab-network-%d.lock" % os.getuid())


def free_subnet(used: t.Iterable[str], candidates: t.Sequence[ipaddress.IPv4Network] = CANDIDATES) -> str:
    """Return the first candidate that overlaps with no used network. `used` holds networks in CIDR form; other words are ignored."""
    taken = []
    for text in used:
        try:
            taken.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            continue
    for candidate in candidates:
        if not any(candidate.overlaps(network) for network in taken if network.prefixlen and network.version == 4):
            return str(candidate)
    raise LabError("No free network for the lab among %s and its like. Name one: RDMALAB_SUBNET=10.99.0.0/22" % candidates[0])


def address(subnet: str, index: int) -> str:
    """Return the address of the simulator (index 0) or of the node with that number."""
    network = ipaddress.ip_network(subnet)
    offset = 2 if index == 0 else FIRST_NODE + index - 1
    if offset >= network.num_addresses - 1:
        raise LabError("The network %s has no address for node %d. Name a larger one in RDMALAB_SUBNET, after 'lab down'." % (subnet, index))
    return str(network[offset])


def subnet_of(settings: Settings) -> str:
    """Return the subnet of the lab's network, "" if there is none."""
    found = json.loads(docker("network", "inspect", settings.prefix, check=False) or "[]")
    return str(found[0]["IPAM"]["Config"][0]["Subnet"]) if found else ""


def ensure_network(settings: Settings) -> str:
    """Create the network if it is missing. Returns its subnet."""
    subnet = subnet_of(settings)
    if subnet:
        return subnet
    # Two labs that start at the same time must not choose the same subnet.
    with open(LOCK, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subnet = settings.subnet or free_subnet(_used())
        docker("network", "create", *settings.labels, "--subnet", subnet, settings.prefix)
    return subnet


def _used() -> list[str]:
    """Return Docker's networks and the words of all routes."""
    # A network removed in the meantime does not matter: with its name, Docker fails only after it has printed the others.
    shown = docker("network", "inspect", *docker("network", "ls", "--quiet").split(), check=False)
    networks = [config["Subnet"] for network in json.loads(shown) for config in network["IPAM"]["Config"] or []]
    return networks + subprocess.run(["ip", "-4", "route"], capture_output=True, text=True, check=False).stdout.split()
