# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Interfaces of a machine as its kernel shows them."""

from __future__ import annotations

import json
import os
import pathlib
import time
import typing as t

import records

Host = t.Any
NODES = ("node1", "node2", "node3", "node4")


FOLDER = pathlib.Path(os.environ["MOLECULE_PROJECT_DIRECTORY"]) / "build/molecule/ipoib_vm"


class Interface(t.NamedTuple):
    mode: str
    mtu: int
    up: bool
    carrier: bool
    master: str
    addresses: tuple[str, ...]


def interface(host: Host, name: str) -> Interface | None:
    """Return an interface, None if there is none. Link-local addresses are left out."""
    shown = host.run("ip -j -d address show dev %s", name)
    if shown.rc:
        return None
    (found,) = [one for one in json.loads(shown.stdout) if one]
    addresses = sorted("%s/%d" % (one["local"], one["prefixlen"]) for one in found["addr_info"] if one["scope"] != "link")
    mode = found.get("linkinfo", {}).get("info_data", {}).get("mode", "") if found.get("link_type") == "infiniband" else ""
    return Interface(str(mode), found["mtu"], "UP" in found["flags"], "LOWER_UP" in found["flags"], found.get("master", ""), tuple(addresses))


def number(host: Host) -> str:
    return str(host.backend.host)[-1]


def others(host: Host) -> list[str]:
    return [node[-1] for node in NODES if node[-1] != number(host)]


def reaches(host: Host, address: str, size: int = 56, seconds: float = 20) -> bool:
    """Return whether a host is reachable. Carriers and neighbour entries take a moment after a boot."""
    end = time.monotonic() + seconds
    while host.run("ping -c 1 -W 2 -M do -s %s %s", str(size), address).rc:
        if time.monotonic() > end:
            return False
    return True


def untruths(playbook: str) -> list[str]:
    """Return the changes that check mode did not predict for the last run of that playbook, and what a second run changed."""
    found = records.changes(records.find(FOLDER, playbook, "run")[-1])
    plays: dict[str, dict[str, object]] = {"Foresee": {}, "Change": {}, "Change again": {}}
    for (play, task, host), what in found.items():
        if play in plays:
            plays[play]["%s: %s" % (host, task)] = what
    lies = ["%s changed nothing" % node for node in NODES if not any(what.startswith(node) for what in plays["Change"])]
    if plays["Foresee"] != plays["Change"]:
        lies.append("check mode: %s, the run: %s" % (plays["Foresee"], plays["Change"]))
    if plays["Change again"]:
        lies.append("again: %s" % plays["Change again"])
    return lies
