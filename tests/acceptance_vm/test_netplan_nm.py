# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""netplan with NetworkManager as its renderer: real interfaces, a P_Key child beside netplan, and a bond."""

from __future__ import annotations

import collections.abc

import pytest
from cluster import Cluster
from conftest import PREFIX, running
from interfaces import bond, bond_is_there, made, ports, ports_are_there, profiles, restarted, run
from proofs import REAL

NODES = {"node1": 1, "node2": 2}
RENDERED = "/run/NetworkManager/system-connections/netplan-%s.nmconnection"
BESIDE = "/etc/NetworkManager/system-connections/rdma-ib0.8001.nmconnection"


@pytest.fixture(scope="module")
def rendered() -> collections.abc.Iterator[Cluster]:
    for cluster in running(PREFIX + "-netplan-nm", "netplan-nm"):
        for node in NODES:
            run(cluster, node, "modprobe ib_ipoib")
        yield cluster


def files(*names: str) -> list[str]:
    return [RENDERED % name for name in names]


@pytest.mark.proves("netplan", debian12=REAL)
@pytest.mark.proves("networkmanager", "pkeys", debian12=REAL)
def test_interfaces_come_from_netplan_and_outlive_a_reboot(rendered: Cluster) -> None:
    made(rendered, NODES, ports)
    ports_are_there(rendered, NODES, [*files("ib0", "ib2"), BESIDE])
    restarted(rendered, NODES)
    ports_are_there(rendered, NODES, [*files("ib0", "ib2"), BESIDE])


@pytest.mark.proves("netplan", debian12=REAL)
@pytest.mark.proves("networkmanager", "bonds", debian12=REAL)
def test_a_bond_takes_their_place_and_all_of_it_goes(rendered: Cluster) -> None:
    made(rendered, NODES, bond, allow_removal=True)
    bond_is_there(rendered, NODES, files("bond0", "ib0", "ib1"))
    made(rendered, NODES, lambda number: [], state="absent")
    for node in NODES:
        assert profiles(rendered, node) == set()
        assert run(rendered, node, "ls /etc/netplan") == "10-management.yaml"
