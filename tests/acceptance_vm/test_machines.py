# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""IPoIB on a real kernel: the driver ib_ipoib, systemd-networkd, udev and the boot are Debian's."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from cluster import Cluster, Run
from interfaces import Look, look, run, within
from proofs import REAL

NODES = ("node1", "node2")


def site(lab: Cluster, inventory: pathlib.Path) -> Run:
    done = lab.play("site", inventory=inventory)
    assert done.status == 0, done.output
    return done


@pytest.fixture
def declare(lab: Cluster, tmp_path: pathlib.Path) -> t.Callable[[str, bool], pathlib.Path]:
    """Return a function that writes an inventory with ib0 in a given mode on all nodes, with or without a P_Key child."""

    def write(mode: str, child: bool) -> pathlib.Path:
        inventory = yaml.safe_load(lab.inventory.read_text(encoding="utf-8"))
        for number, variables in enumerate(inventory["all"]["children"]["rdma"]["hosts"].values(), 1):
            variables["ipoib_interfaces"] = [{"name": "ib0", "addresses": ["10.20.0.%d/24" % number], "mode": mode}]
            if child:
                variables["ipoib_interfaces"] += [{"parent": "ib0", "pkey": 0x8001, "name": "ib0.8001", "addresses": ["10.21.0.%d/24" % number], "mode": mode}]
        path = tmp_path / ("%s.yml" % mode)
        path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
        return path

    return write


@pytest.mark.proves("networkd", "ipoib_modes", debian12=REAL)
def test_connected_mode(lab: Cluster, declare: t.Callable[[str, bool], pathlib.Path]) -> None:
    site(lab, declare("connected", False))
    for number, node in enumerate(NODES, 1):
        assert within(30, lambda node=node: look(lab, node, "ib0").carrier)  # type: ignore[misc]
        assert look(lab, node, "ib0") == Look("connected", 65520, True, ("10.20.0.%d/24" % number,))


@pytest.mark.proves("ipoib_modes", debian12=REAL)
def test_large_packets_reach_the_other_machine(lab: Cluster) -> None:
    run(lab, "node1", "ping -c 3 -i 0.3 -W 5 -M do -s 65000 10.20.0.2")


def test_enhanced_ipoib_refuses_connected_mode(lab: Cluster) -> None:
    assert run(lab, "node1", "cut -c -2 /sys/class/net/ib2/address") == "00"
    refused = lab.shell("node1", "/bin/echo connected >/sys/class/net/ib2/mode")
    assert refused.returncode != 0
    assert "Invalid argument" in refused.stderr


@pytest.mark.proves("networkd", "ipoib_modes", "pkeys", "reboot", debian12=REAL)
def test_datagram_mode_and_a_child_outlive_a_reboot(lab: Cluster, declare: t.Callable[[str, bool], pathlib.Path]) -> None:
    inventory = declare("datagram", True)
    site(lab, inventory)
    again = site(lab, inventory)
    assert "changed=0" in again.output
    assert not any("changed=%d" % number in again.output for number in range(1, 20)), again.output
    for rebooted in (False, True):
        if rebooted:
            lab.command("restart", "--all")
        for number, node in enumerate(NODES, 1):
            assert within(60, lambda node=node: look(lab, node, "ib0.8001").carrier), rebooted  # type: ignore[misc]
            assert look(lab, node, "ib0") == Look("datagram", 2044, True, ("10.20.0.%d/24" % number,)), rebooted
            assert look(lab, node, "ib0.8001") == Look("datagram", 2044, True, ("10.21.0.%d/24" % number,)), rebooted
        run(lab, "node1", "ping -c 2 -W 5 10.20.0.2 && ping -c 2 -W 5 10.21.0.2")


def test_a_pulled_cable_and_a_missing_subnet_manager_take_the_carrier(lab: Cluster) -> None:
    lab.command("fault", "link", "node1", "down")
    assert within(30, lambda: not look(lab, "node1", "ib0").carrier)
    lab.command("fault", "link", "node1", "up")
    assert within(30, lambda: look(lab, "node1", "ib0").carrier)
    lab.command("fault", "sm", "off")
    run(lab, "node1", "ip link set ib1 down && ip link set ib1 up && sleep 3")
    assert not look(lab, "node1", "ib1").carrier
    lab.command("fault", "sm", "on")
    assert within(30, lambda: look(lab, "node1", "ib1").carrier)


def test_the_multicast_groups_limit_datagram_mode(lab: Cluster) -> None:
    run(lab, "node1", "ip link set ib1 up")
    for fabric, interface in (("4096", 4092), ("2048", 2044)):
        lab.command("fault", "mtu", fabric)
        assert within(30, lambda interface=interface: look(lab, "node1", "ib1").mtu == interface), fabric  # type: ignore[misc]
