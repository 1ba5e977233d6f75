# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ifcfg files as RHEL 8 has them: NetworkManager with its reader of such files makes real interfaces and a bond of them."""

from __future__ import annotations

import collections.abc
import typing as t

import pytest
import tasks
from cluster import Cluster, environment
from conftest import PREFIX, running
from interfaces import Look, look, run, within
from proofs import LOOK_ALIKE

NODES = {"node1": 1, "node2": 2}
FOLDER = "/etc/sysconfig/network-scripts/"


@pytest.fixture(scope="module")
def readers() -> collections.abc.Iterator[Cluster]:
    for cluster in running(PREFIX + "-ifcfg", "ifcfg"):
        for node in NODES:
            run(cluster, node, "modprobe ib_ipoib")
        yield cluster


def ports(number: int) -> list[dict[str, t.Any]]:
    return [
        {"name": "ib0", "mode": "connected", "addresses": ["10.20.0.%d/24" % number]},
        {"parent": "ib0", "pkey": 0x8001, "mode": "connected", "addresses": ["10.21.0.%d/24" % number]},
        {"name": "ib2", "addresses": ["10.23.0.%d/24" % number]},
    ]


def bond(number: int) -> list[dict[str, t.Any]]:
    return [{"name": "bond0", "addresses": ["10.20.0.%d/24" % number], "bond": {"ports": ["ib0", "ib1"], "primary": "ib0"}}]


def made(cluster: Cluster, declared: t.Callable[[int], list[dict[str, t.Any]]], **options: t.Any) -> None:
    """Foreseen, done, and nothing to do the second time."""
    for node, number in NODES.items():
        wanted = {"backend": "ifcfg", "interfaces": declared(number), **options}
        steps = [tasks.module("ipoib", check=check, **wanted) for check in (True, False, False)]
        foreseen, done, again = tasks.run(cluster.inventory, [node], steps, environment=environment())[node]
        assert not foreseen["failed"] and not done["failed"] and not again["failed"], (foreseen.get("msg"), done.get("msg"), again.get("msg"))
        assert done["changes"] == foreseen["changes"] != []
        assert again["changes"] == []


def files(cluster: Cluster, node: str) -> set[str]:
    """The files that NetworkManager has its profiles of the fabric's interfaces from."""
    said = run(cluster, node, "nmcli --terse --fields DEVICE,FILENAME connection show --active")
    return {path for device, _colon, path in (line.partition(":") for line in said.splitlines()) if device.startswith(("ib", "bond"))}


@pytest.mark.proves("ifcfg", el8=LOOK_ALIKE)
def test_interfaces_come_from_the_files_and_outlive_a_reboot(readers: Cluster) -> None:
    made(readers, ports)
    for rebooted in (False, True):
        if rebooted:
            readers.command("restart", "--all")
            for node in NODES:
                run(readers, node, "modprobe ib_ipoib")
        for node, number in NODES.items():
            assert within(120, lambda node=node: look(readers, node, "ib0.8001").carrier), rebooted  # type: ignore[misc]
            assert look(readers, node, "ib0") == Look("connected", 65520, True, ("10.20.0.%d/24" % number,)), rebooted
            assert look(readers, node, "ib0.8001") == Look("connected", 65520, True, ("10.21.0.%d/24" % number,)), rebooted
            assert look(readers, node, "ib2") == Look("datagram", 2044, True, ("10.23.0.%d/24" % number,)), rebooted
            assert files(readers, node) == {FOLDER + "ifcfg-" + name for name in ("ib0", "ib0.8001", "ib2")}
        for address in ("10.20.0.2", "10.21.0.2", "10.23.0.2"):
            run(readers, "node1", "ping -c 2 -W 5 -I %s %s" % (address[:-1] + "1", address))


@pytest.mark.proves("ifcfg", el8=LOOK_ALIKE)
def test_a_bond_takes_their_place_and_all_of_it_goes(readers: Cluster) -> None:
    made(readers, bond, allow_removal=True)
    for node, number in NODES.items():
        assert within(120, lambda node=node: "ib1" in run(readers, node, "cat /sys/class/net/bond0/bonding/slaves"))  # type: ignore[misc]
        assert run(readers, node, "cat /sys/class/net/bond0/bonding/slaves").split() == ["ib0", "ib1"]
        assert "10.20.0.%d/24" % number in run(readers, node, "ip -brief address show dev bond0")
        assert files(readers, node) == {FOLDER + "ifcfg-" + name for name in ("bond0", "ib0", "ib1")}
    run(readers, "node1", "ping -c 2 -W 5 10.20.0.2")
    made(readers, lambda number: [], state="absent")
    for node in NODES:
        assert files(readers, node) == set()
        assert run(readers, node, "ls %s" % FOLDER) == "ifcfg-eth0"
