# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cluster recovers by itself: these tests run no playbook that converges it."""

from __future__ import annotations

import pytest
from cluster import Cluster
from proofs import REAL

SECONDS_TO_COME_BACK = 300


@pytest.mark.proves("opensm", debian12=REAL)
def test_opensm_killed(lab: Cluster) -> None:
    before = lab.shell("node1", "pgrep -x opensm").stdout.split()
    assert before
    assert lab.shell("node1", "kill -9 %s" % " ".join(before)).returncode == 0
    lab.wait_until_green(SECONDS_TO_COME_BACK)
    after = lab.shell("node1", "pgrep -x opensm").stdout.split()
    assert after
    assert set(after).isdisjoint(before)


@pytest.mark.proves("reboot", debian12=REAL)
def test_all_nodes_restarted_at_once(lab: Cluster) -> None:
    lab.command("restart", "--all")
    lab.wait_until_green(SECONDS_TO_COME_BACK)


@pytest.mark.quick
@pytest.mark.proves("verify", debian12=REAL)
def test_a_pulled_cable_is_named_and_a_plugged_one_is_well_again(lab: Cluster) -> None:
    lab.command("fault", "link", "node2", "down")
    try:
        run = lab.play("verify")
        assert run.status != 0
        assert "node2" in run.output
        port = "port %s/1" % lab.shell("node2", "ls /sys/class/infiniband").stdout.strip()
        assert port in run.output
        foreseen = lab.play("site", "--check")
        assert foreseen.status != 0
        assert "No role corrects this. The run will fail unless you correct it first:\n  node2: %s: wanted ACTIVE and LinkUp" % port in foreseen.output, (
            foreseen.output
        )
    finally:
        lab.command("fault", "link", "node2", "up")
    lab.wait_until_green(SECONDS_TO_COME_BACK)


def test_the_lab_gives_a_port_to_one_subnet_manager_as_a_kernel_does(lab: Cluster) -> None:
    second = lab.shell("node1", "timeout 30 opensm -g $(ibstat -p | head -n 1) -f /tmp/second.log; cat /tmp/second.log; rm /tmp/second.log")
    assert "Perhaps another instance of OpenSM is already running" in second.stdout, second.stdout
    assert "osm_vendor_bind: ERR 5426: Unable to register class 129 version 1" in second.stdout
    assert lab.shell("node1", "systemctl is-active rdma-opensm@ib").stdout.strip() == "active"


@pytest.mark.proves("verify", debian12=REAL)
def test_a_stopped_subnet_manager_is_named(lab: Cluster) -> None:
    lab.shell("node1", "systemctl stop rdma-opensm@ib")
    try:
        run = lab.play("verify")
        assert run.status != 0
        assert "node1" in run.output
        assert "master" in run.output.lower()
        assert "it was stopped, and did not fail: 'systemctl start rdma-opensm@ib'" in run.output
    finally:
        lab.shell("node1", "systemctl start rdma-opensm@ib")
    lab.wait_until_green(SECONDS_TO_COME_BACK)


@pytest.mark.proves("verify", debian12=REAL)
def test_a_card_with_half_of_its_lanes_is_named(lab: Cluster) -> None:
    attribute = "/sys/bus/pci/devices/0000:03:00.0/current_link_width"
    lab.shell("node2", "echo 8 > " + attribute)
    try:
        run = lab.play("verify")
        assert run.status != 0
        assert "PCI Express link of adapter 0000:03:00.0: wanted x16 at 8 GT/s, found x8 at 8 GT/s" in run.output
        accepted = lab.play("verify", "-e", '{"node_check_pcie_accepted": ["03:00.0"]}')
        assert accepted.status == 0, accepted.output
    finally:
        lab.shell("node2", "echo 16 > " + attribute)
    lab.wait_until_green(SECONDS_TO_COME_BACK)
