# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab's fabric as data, from the real diagnostics and the real subnet manager."""

from __future__ import annotations

import pytest
import tasks
from cluster import Cluster, environment
from proofs import REAL

NODES = ("node1", "node2", "node3")


@pytest.mark.proves("fabric", debian12=REAL)
def test_the_whole_fabric_is_data(lab: Cluster) -> None:
    steps = [tasks.module("ib_fabric_info"), tasks.module("ib_fabric_info", check=True, hosts=["node2"]), tasks.module("ib_fabric_info", lids=[60000])]
    whole, one, wrong = tasks.run(lab.inventory, ["node1"], steps, environment=environment())["node1"]
    assert whole["problems"] == [], whole
    hosts = {row["name"].split()[0]: row for row in whole["nodes"] if row["type"] == "ca"}
    assert set(NODES) <= set(hosts)
    assert whole["totals"]["cas"] == len(hosts) and whole["totals"]["switches"] >= 1
    # Each host has a LID and a link with both ends.
    assert all(row["lids"] for row in whole["nodes"])
    ends = {end["name"].split()[0] for link in whole["links"] for end in link["ends"]}
    assert set(NODES) <= ends
    assert all(end["state"] == "Active" and end["width"] and end["speed"] for link in whole["links"] for end in link["ends"])
    assert all(link["max_width"] and link["max_speed"] and link["degraded"] is not None for link in whole["links"])
    assert [(sm["state"], sm["name"].split()[0]) for sm in whole["subnet_managers"]] == [("MASTER", "node1")]
    default = next(partition for partition in whole["partitions"] if partition["pkey"] == "0x7fff")
    guids = {port["name"].split()[0]: port["port_guid"] for port in whole["ports"] if port["name"].split()[0] in NODES}
    # On the simulated fabric, opensm has the P_Key table of its own port only.
    assert guids["node1"] in default["full"]
    assert "ff12:401b:ffff::ffff:ffff" in [group["mgid"] for group in whole["multicast_groups"]]
    assert [row["name"].split()[0] for row in one["nodes"]] == ["node2"] and one["totals"] == whole["totals"]
    assert not (whole["changed"] or one["changed"])
    assert wrong["failed"] and "lids[0] is 60000" in wrong["msg"]


@pytest.mark.proves("fabric", debian12=REAL)
def test_a_port_outside_its_partition_is_found_and_nothing_else(lab: Cluster) -> None:
    (whole,) = tasks.run(lab.inventory, ["node1"], [tasks.module("ib_fabric_info")], environment=environment())["node1"]
    own = next(port["port_guid"] for port in whole["ports"] if port["name"].split()[0] == "node1")
    steps = [tasks.module("ib_fabric_check", fail=False, partitions={"0x7fff": [own], **more}) for more in ({}, {"0x8001": [own]})]
    right, wrong = tasks.run(lab.inventory, ["node1"], steps, environment=environment())["node1"]
    assert right["findings"] == []
    ((code, where),) = [(each["code"], each["object"]) for each in wrong["findings"]]
    assert code == "partition_member" and where.startswith("node1 ")
