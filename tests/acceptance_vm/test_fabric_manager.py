# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""opensm and ib_ipoib on the same fabric: the subnet manager's decisions reach the interfaces of real kernels.

opensm runs on both machines, as master and as standby. The tests depend on each other.
"""

from __future__ import annotations

import collections.abc
import pathlib
import re

import pytest
import records
import yaml
from cluster import Cluster, Run
from conftest import PREFIX, running
from interfaces import Look, look, run, within
from proofs import REAL

NODES = ("node1", "node2")
PKEY = 0x8005
CHILD = "ib0.8005"
UNIT = "rdma-opensm@ib.service"
CONF = "/etc/rdma-ofed/opensm/ib/opensm.conf"
SLOWNESS = 3
"""Factor by which an emulated machine may be slower than a real one."""


@pytest.fixture(scope="module")
def machines() -> collections.abc.Iterator[Cluster]:
    yield from running(PREFIX + "-fabric", "managed-machines")


@pytest.fixture(scope="module")
def inventory(machines: Cluster, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return an inventory with two subnet managers, and a partition for 4096 bytes beside the default one with the usual 2048."""
    declared = yaml.safe_load(machines.inventory.read_text(encoding="utf-8"))
    groups = declared["all"]["children"]
    for number, variables in enumerate(groups["rdma"]["hosts"].values(), 1):
        variables["ipoib_interfaces"] = [
            {"name": "ib0", "addresses": ["10.20.0.%d/24" % number], "mode": "datagram"},
            {"parent": "ib0", "pkey": PKEY, "name": CHILD, "addresses": ["10.21.0.%d/24" % number], "mode": "datagram"},
        ]
    groups["opensm"] = {"hosts": dict.fromkeys(NODES)}
    declared["all"]["vars"] |= {
        "opensm_standby": True,
        # An answer takes longer than on real hardware: it passes through user space of an emulated machine.
        "opensm_options": {"transaction_timeout": 1000},
        "opensm_partitions": [
            {"name": "Default", "pkey": 0x7FFF, "ipoib": True, "members": [{"keyword": "ALL"}]},
            {"name": "storage", "pkey": PKEY & 0x7FFF, "ipoib": True, "mtu": 4096, "members": [{"group": "rdma"}]},
        ],
    }
    path = tmp_path_factory.mktemp("fabric") / "inventory.yml"
    path.write_text(yaml.safe_dump(declared), encoding="utf-8")
    return path


def site(machines: Cluster, inventory: pathlib.Path) -> Run:
    done = machines.play("site", inventory=inventory)
    assert done.status == 0, done.output
    return done


def check_interfaces(machines: Cluster) -> None:
    for number, node in enumerate(NODES, 1):
        for name, mtu, network in (("ib0", 2044, "10.20.0"), (CHILD, 4092, "10.21.0")):
            expected = Look("datagram", mtu, True, ("%s.%d/24" % (network, number),))
            assert within(120, lambda node=node, name=name, expected=expected: look(machines, node, name) == expected), look(machines, node, name)  # type: ignore[misc]


def pkeys(machines: Cluster, node: str) -> set[int]:
    return {int(word, 16) for word in run(machines, node, "cat /sys/class/infiniband/*/ports/1/pkeys/*").split()} - {0}


def reaches(machines: Cluster) -> bool:
    """Return whether the partition's largest packets reach the other machine. The first one makes the kernel query the path."""
    return machines.shell("node2", "ip neigh flush dev %s; ping -q -c 3 -W 5 -M do -s 4064 10.21.0.1" % CHILD).returncode == 0


def promised(machines: Cluster) -> float:
    """Return the seconds after which a standby takes over from a silent master, according to its configuration."""
    found = dict(re.findall(r"^(sminfo_polling_timeout|polling_retry_number)\s+(\d+)", run(machines, "node2", "cat " + CONF), re.MULTILINE))
    return int(found["sminfo_polling_timeout"]) / 1000 * int(found["polling_retry_number"])


def members(machines: Cluster) -> set[str]:
    """Return the port GIDs of the members of the partition's broadcast group in the subnet administrator."""
    # Without the SM_Key it reports the groups but not their members.
    listed = machines.shell("node2", "saquery --smkey 1 MCMR")
    assert listed.returncode == 0, listed
    blocks = [dict(re.findall(r"^\s*(\w+)\.{2,}(\S+)$", block, re.MULTILINE)) for block in listed.stdout.split("MCMember Record dump:")[1:]]
    return {block["PortGid"] for block in blocks if block["MGID"].startswith("ff12:401b:8005:") and block["PortGid"] != "::"}


@pytest.mark.proves("opensm", "opensm_options", "pkeys", debian12=REAL)
def test_a_partition_reaches_real_interfaces(machines: Cluster, inventory: pathlib.Path) -> None:
    site(machines, inventory)
    check_interfaces(machines)
    for node in NODES:
        assert pkeys(machines, node) == {0xFFFF, PKEY}
    assert within(60, lambda: reaches(machines))


@pytest.mark.proves("unchanged", debian12=REAL)
def test_a_second_run_changes_nothing(machines: Cluster, inventory: pathlib.Path) -> None:
    assert records.changes(site(machines, inventory).events) == {}


@pytest.mark.proves("handover", debian12=REAL)
def test_a_standby_takes_over_and_clients_register_again(machines: Cluster) -> None:
    """A new master knows no members of a multicast group until they join again."""
    both = members(machines)
    assert len(both) == len(NODES), both
    seconds = SLOWNESS * promised(machines)
    run(machines, "node1", "systemctl mask --runtime %s && systemctl kill --signal KILL %s" % (UNIT, UNIT))
    assert within(seconds, lambda: machines.shell("node2", "sminfo | grep SMINFO_MASTER").returncode == 0)
    own = run(machines, "node2", "cat /sys/class/infiniband/*/ports/1/lid")
    for node in NODES:
        assert within(seconds, lambda node=node: run(machines, node, "cat /sys/class/infiniband/*/ports/1/sm_lid") == own), node  # type: ignore[misc]
    assert within(seconds, lambda: members(machines) == both), members(machines)
    assert within(seconds, lambda: reaches(machines))
    check_interfaces(machines)
