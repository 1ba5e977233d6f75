# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ifcfg files as on RHEL 8: NetworkManager's reader for such files creates real interfaces and a bond of them."""

from __future__ import annotations

import collections.abc

import pytest
from cluster import Cluster
from conftest import PREFIX, running
from interfaces import bond, bond_is_there, made, ports, ports_are_there, profiles, restarted, run
from proofs import LOOK_ALIKE

NODES = {"node1": 1, "node2": 2}
FOLDER = "/etc/sysconfig/network-scripts/"


@pytest.fixture(scope="module")
def readers() -> collections.abc.Iterator[Cluster]:
    for cluster in running(PREFIX + "-ifcfg", "ifcfg"):
        for node in NODES:
            run(cluster, node, "modprobe ib_ipoib")
        yield cluster


def files(*names: str) -> list[str]:
    return [FOLDER + "ifcfg-" + name for name in names]


@pytest.mark.proves("ifcfg", el8=LOOK_ALIKE)
@pytest.mark.proves("pkeys", el8=LOOK_ALIKE)
def test_interfaces_come_from_the_files_and_outlive_a_reboot(readers: Cluster) -> None:
    made(readers, NODES, ports, backend="ifcfg")
    ports_are_there(readers, NODES, files("ib0", "ib0.8001", "ib2"))
    restarted(readers, NODES)
    ports_are_there(readers, NODES, files("ib0", "ib0.8001", "ib2"))


@pytest.mark.proves("ifcfg", el8=LOOK_ALIKE)
@pytest.mark.proves("bonds", el8=LOOK_ALIKE)
def test_a_bond_takes_their_place_and_all_of_it_goes(readers: Cluster) -> None:
    made(readers, NODES, bond, backend="ifcfg", allow_removal=True)
    bond_is_there(readers, NODES, files("bond0", "ib0", "ib1"))
    made(readers, NODES, lambda number: [], backend="ifcfg", state="absent")
    for node in NODES:
        assert profiles(readers, node) == set()
        assert run(readers, node, "ls %s" % FOLDER) == "ifcfg-eth0"
