# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changed partitions, and hosts that a run does not reach."""

from __future__ import annotations

import pathlib
import re
import time
import typing as t

import pytest
from cluster import Cluster
from conftest import converge
from proofs import REAL

pytestmark = pytest.mark.long

FILE = "/etc/rdma-ofed/opensm/ib/partitions.conf"
TAGS = ("--tags", "opensm")


def declaring(mtu: int) -> t.Callable[[dict[str, t.Any]], None]:
    """Return an edit: node1 is master and node2 is standby, and the partition of all hosts has this MTU."""
    storage = {"name": "storage", "pkey": 1, "ipoib": True, "mtu": mtu, "members": [{"group": "rdma"}]}
    partitions = [{"name": "Default", "pkey": 0x7FFF, "ipoib": True, "members": [{"keyword": "ALL"}]}, storage]

    def edit(inventory: dict[str, t.Any]) -> None:
        inventory["all"]["children"]["opensm"] = {"hosts": {"node1": {}, "node2": {"opensm_standby": True}}}
        inventory["all"]["vars"] = {**(inventory["all"].get("vars") or {}), "opensm_partitions": partitions}

    return edit


def group_mtu(lab: Cluster) -> str:
    """Return the MTU code of the partition's broadcast group on the fabric."""
    text = lab.shell("node3", "saquery -g").stdout
    return re.sub(r".*ff12:401b:8001::ffff:ffff.*?Mtu\.+0x8(.).*", r"\1", text, flags=re.DOTALL) if "401b:8001::" in text else text


def wait_for(lab: Cluster, mtu: str) -> None:
    for _try in range(120):
        if group_mtu(lab) == mtu:
            return
        time.sleep(1)
    raise AssertionError(group_mtu(lab))


@pytest.mark.proves("opensm_options", debian12=REAL)
def test_another_mtu_of_a_partition_arrives(lab: Cluster, edited: t.Callable[..., pathlib.Path]) -> None:
    """opensm keeps the group when it rereads its file, and so does a standby that has been master."""
    converge(lab, *TAGS, inventory=edited(declaring(2048)))
    wait_for(lab, "4")
    # The standby creates the group too.
    lab.shell("node1", "systemctl stop rdma-opensm@ib")
    try:
        for _try in range(180):
            if "MASTER" in lab.shell("node2", 'sminfo | grep -i "$(cat /sys/class/infiniband/*/ports/1/gids/0 | cut -d: -f7- | tr -d :)"').stdout:
                break
            time.sleep(1)
        wait_for(lab, "4")
    finally:
        lab.shell("node1", "systemctl start rdma-opensm@ib")
    inventory = edited(declaring(4096))
    foreseen = converge(lab, *TAGS, "--check", "-v", inventory=inventory).output
    assert foreseen.count("broadcast group of partition ib/storage mtu: 2048 -> 4096") >= 2, foreseen
    converge(lab, *TAGS, inventory=inventory)
    wait_for(lab, "5")
    again = converge(lab, *TAGS, inventory=inventory)
    assert set(re.findall(r"\bchanged=(\d+)", again.output)) == {"0"}, again.output
    # The next master has it, whichever it is.
    lab.shell("node1", "systemctl stop rdma-opensm@ib")
    try:
        time.sleep(60)
        wait_for(lab, "5")
    finally:
        lab.shell("node1", "systemctl start rdma-opensm@ib")


@pytest.mark.proves("opensm_options", debian12=REAL)
def test_a_host_that_is_not_reached_keeps_its_membership(lab: Cluster, edited: t.Callable[..., pathlib.Path]) -> None:
    inventory = edited(declaring(4096))
    converge(lab, *TAGS, inventory=inventory)
    before = lab.shell("node1", "cat %s" % FILE).stdout
    assert "# node3" in before
    limited = converge(lab, *TAGS, "--limit", "node1,node2", inventory=inventory).output
    assert lab.shell("node1", "cat %s" % FILE).stdout == before
    assert "node3" in limited
    lab.shell("node1", "sed -i /node3/d %s" % FILE)
    output = converge(lab, *TAGS, "--limit", "node1,node2", inventory=inventory).output
    assert "node3" in output and "# node3" not in lab.shell("node1", "cat %s" % FILE).stdout
    converge(lab, *TAGS, inventory=inventory)
    assert lab.shell("node1", "cat %s" % FILE).stdout == before
    # Restore the state from before this module.
    converge(lab, "-e", "rdma_allow_removal=true", *TAGS)
    lab.wait_until_green(60)
