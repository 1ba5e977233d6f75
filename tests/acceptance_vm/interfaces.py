# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""IPoIB interfaces of a machine as its kernel shows them."""

from __future__ import annotations

import json
import time
import typing as t

import tasks
from cluster import Cluster, environment

Declared = t.Callable[[int], t.List[t.Dict[str, t.Any]]]
"""Returns the interfaces of a node by its number."""


class Look(t.NamedTuple):
    """An IPoIB interface as the kernel shows it."""

    mode: str
    mtu: int
    carrier: bool
    addresses: tuple[str, ...]


def run(lab: Cluster, node: str, script: str) -> str:
    done = lab.shell(node, script)
    for _try in range(60):
        if done.returncode != 255 or "banner exchange" not in done.stderr:
            break
        # The machine is too busy to answer, and has not started the script.
        done = lab.shell(node, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def look(lab: Cluster, node: str, name: str) -> Look:
    (found,) = [one for one in json.loads(run(lab, node, "ip -j -d -4 address show dev %s" % name)) if one]
    addresses = tuple("%s/%d" % (one["local"], one["prefixlen"]) for one in found["addr_info"] if one)
    return Look(found["linkinfo"]["info_data"]["mode"], found["mtu"], "LOWER_UP" in found["flags"], addresses)


def within(seconds: float, check: t.Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(1)
    return True


def ports(number: int) -> list[dict[str, t.Any]]:
    return [
        {"name": "ib0", "mode": "connected", "addresses": ["10.20.0.%d/24" % number]},
        {"parent": "ib0", "pkey": 0x8001, "mode": "connected", "addresses": ["10.21.0.%d/24" % number]},
        {"name": "ib2", "addresses": ["10.23.0.%d/24" % number]},
    ]


def bond(number: int) -> list[dict[str, t.Any]]:
    return [{"name": "bond0", "addresses": ["10.20.0.%d/24" % number], "bond": {"ports": ["ib0", "ib1"], "primary": "ib0"}}]


def made(cluster: Cluster, nodes: t.Mapping[str, int], declared: Declared, **options: t.Any) -> None:
    """Run check mode, the run that does the same, and one that changes nothing."""
    for node, number in nodes.items():
        wanted = {"interfaces": declared(number), **options}
        steps = [tasks.module("ipoib", check=check, **wanted) for check in (True, False, False)]
        foreseen, done, again = tasks.run(cluster.inventory, [node], steps, environment=environment())[node]
        assert not foreseen["failed"] and not done["failed"] and not again["failed"], (foreseen.get("msg"), done.get("msg"), again.get("msg"))
        assert done["changes"] == foreseen["changes"] != []
        assert again["changes"] == []


def profiles(cluster: Cluster, node: str) -> set[str]:
    """Return the files of NetworkManager's active profiles for fabric interfaces."""
    said = run(cluster, node, "nmcli --terse --fields DEVICE,FILENAME connection show --active")
    return {path for device, _colon, path in (line.partition(":") for line in said.splitlines()) if device.startswith(("ib", "bond"))}


def ports_are_there(cluster: Cluster, nodes: t.Mapping[str, int], files: t.Collection[str]) -> None:
    """Check the interfaces that `ports` declares, their profile files, and traffic between the two nodes."""
    for node, number in nodes.items():
        assert within(120, lambda node=node: look(cluster, node, "ib0.8001").carrier)  # type: ignore[misc]
        assert look(cluster, node, "ib0") == Look("connected", 65520, True, ("10.20.0.%d/24" % number,))
        assert look(cluster, node, "ib0.8001") == Look("connected", 65520, True, ("10.21.0.%d/24" % number,))
        assert look(cluster, node, "ib2") == Look("datagram", 2044, True, ("10.23.0.%d/24" % number,))
        assert profiles(cluster, node) == set(files)
    for address in ("10.20.0.2", "10.21.0.2", "10.23.0.2"):
        run(cluster, "node1", "ping -c 2 -W 5 -I %s %s" % (address[:-1] + "1", address))


def bond_is_there(cluster: Cluster, nodes: t.Mapping[str, int], files: t.Collection[str]) -> None:
    """Check the interfaces that `bond` declares in the same way."""
    for node, number in nodes.items():
        assert within(120, lambda node=node: "ib1" in run(cluster, node, "cat /sys/class/net/bond0/bonding/slaves"))  # type: ignore[misc]
        assert run(cluster, node, "cat /sys/class/net/bond0/bonding/slaves").split() == ["ib0", "ib1"]
        assert "10.20.0.%d/24" % number in run(cluster, node, "ip -brief address show dev bond0")
        assert profiles(cluster, node) == set(files)
    run(cluster, "node1", "ping -c 2 -W 5 10.20.0.2")


def restarted(cluster: Cluster, nodes: t.Iterable[str]) -> None:
    """Restart the nodes and load the driver, which the role kernel_modules would load at boot."""
    cluster.command("restart", "--all")
    for node in nodes:
        run(cluster, node, "modprobe ib_ipoib")
