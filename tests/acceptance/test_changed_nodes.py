# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes with other hardware, with other names, and nodes that leave: the steps of docs/replacing.md, docs/renaming.md and docs/retiring.md."""

from __future__ import annotations

import collections.abc
import contextlib
import pathlib
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from conftest import converge
from proofs import REAL

LEAF = "0x0002c90300f00010"
FORMER, NEW = "0x0002c90300001011", "0x0002c90310001011"
NODE_GUIDS = ("0x0002c90300001010", "0x0002c90310001010")
PARTITIONS = "cat /etc/rdma-ofed/opensm/ib/partitions.conf"
NAMES = "cat /etc/rdma/ib-node-name-map"
ACTIVE = "for i in $(seq 2000); do grep -q ACTIVE /sys/class/infiniband/*/ports/1/state && exit; sleep 0.1; done; exit 1"
Hosts = t.Dict[str, t.Any]


class Site:
    """The lab and its inventory, which lies in a folder of its own, as the baseline is written beside it."""

    def __init__(self, cluster: Cluster, inventory: pathlib.Path) -> None:
        self.cluster, self.inventory = cluster, inventory

    def play(self, playbook: str, *arguments: str, fails: bool = False) -> Run:
        run = self.cluster.play(playbook, *arguments, inventory=self.inventory)
        assert bool(run.status) == fails, run.output
        return run

    @contextlib.contextmanager
    def edited(self) -> collections.abc.Iterator[tuple[Hosts, Hosts]]:
        """Yield the group rdma and the hosts of group opensm, to be changed."""
        inventory = yaml.safe_load(self.inventory.read_text(encoding="utf-8"))
        groups = inventory["all"]["children"]
        yield groups["rdma"], groups["opensm"]["hosts"]
        self.inventory.write_text(yaml.safe_dump(inventory, sort_keys=False), encoding="utf-8")

    def replace(self, former: str, new: str) -> None:
        self.inventory.write_text(self.inventory.read_text(encoding="utf-8").replace(former, new), encoding="utf-8")

    def texts(self) -> list[tuple[str, str]]:
        """Return the partitions and the names of nodes of each host with a subnet manager."""
        with self.edited() as (_rdma, managers):
            hosts = list(managers)
        return [(self.cluster.shell(host, PARTITIONS).stdout, self.cluster.shell(host, NAMES).stdout) for host in hosts]

    def is_settled(self) -> None:
        """Require that nothing is left to do, that all nodes are as declared, and that the fabric is as saved."""
        assert records.changes(converge(self.cluster, inventory=self.inventory).events) == {}
        self.play("verify")
        assert "No findings." in self.play("fabric").output


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Site]:
    cluster = Cluster("rdma-changes")
    try:
        cluster.command("up", "--topology", "3-nodes")
        path = tmp_path_factory.mktemp("site") / "inventory.yml"
        path.write_text(cluster.inventory.read_text(encoding="utf-8"), encoding="utf-8")
        site = Site(cluster, path)
        with site.edited() as (rdma, managers):
            managers["node2"] = {}
            members = [{"group": "opensm"}, {"host": "node2"}, {"host": "node3", "membership": "limited"}]
            rdma["vars"] = {
                "opensm_standby": True,
                "opensm_node_names": {LEAF: "leaf 1"},
                "opensm_partitions": [
                    {"name": "Default", "pkey": "0x7fff", "ipoib": True, "members": [{"keyword": "ALL"}]},
                    {"name": "storage", "pkey": "0x0001", "members": members},
                ],
            }
            node2 = rdma["hosts"]["node2"]
            node2["rdma_ports"] = [FORMER]
            node2["ipoib_interfaces"][0]["port_guid"] = FORMER
        converge(cluster, inventory=path)
        site.play("fabric", "-e", "fabric_save_baseline=true")
        yield site
    finally:
        cluster.command("down")


@pytest.mark.proves("names", "opensm_options", "discovered", debian12=REAL)
def test_another_hca(site: Site, tmp_path: pathlib.Path) -> None:
    site.cluster.command("swap", "node2")
    assert site.cluster.shell("node2", ACTIVE).returncode == 0

    said = " ".join(site.play("verify", "--limit", "node2", fails=True).output.split())
    assert "port %s: wanted ACTIVE and LinkUp, found no such port" % FORMER in said
    assert "port GUID %s" % NEW in said
    assert "0x0001: wanted full member, found no member" in said
    assert "membership_differs" not in said and "run rdma.ofed.site; with --limit, for this node and the group opensm" in said
    site.play("discover", "--limit", "node2", "-e", "discover_output=%s" % (tmp_path / "replaced"))
    found = (tmp_path / "replaced/host_vars/node2.yml").read_text(encoding="utf-8")
    # The subnet manager runs on node1, which was not looked at.
    assert 'pci: "0000:03:00.0"' in found and "opensm_state" not in found

    site.replace(FORMER, NEW)
    converge(site.cluster, "--limit", "node2:opensm", inventory=site.inventory)
    site.play("verify")
    output = site.play("fabric").output
    assert "node_replaced" in output and "Findings: 0 errors, 1 warning, 0 notices." in output
    site.play("fabric", "-e", "fabric_save_baseline=true")

    site.is_settled()
    for partitions, names in site.texts():
        assert (FORMER in partitions, "%s=full, # node2" % NEW in partitions.replace("=full;", "=full,")) == (False, True)
        assert (NODE_GUIDS[0] in names, '%s "node2 mlx5_0"' % NODE_GUIDS[1] in names, '%s "leaf 1"' % LEAF in names) == (False, True, True)


@pytest.mark.proves("names", "opensm_options", "unchanged", debian12=REAL)
def test_another_name(site: Site) -> None:
    with site.edited() as (rdma, _managers):
        rdma["hosts"] = {"compute3" if host == "node3" else host: own for host, own in rdma["hosts"].items()}
    run = site.play("site", "--limit", "compute3:opensm", fails=True)
    assert "host is 'node3'; allowed: a host of the inventory" in " ".join(run.output.split())
    assert records.changes(run.events) == {}

    site.replace("host: node3", "host: compute3")
    run = converge(site.cluster, "--limit", "compute3:opensm", inventory=site.inventory)
    assert {host for _play, _task, host in records.changes(run.events)} == {"node1", "node2"}
    site.play("verify")
    assert "No findings." in site.play("fabric").output
    site.play("fabric", "-e", "fabric_save_baseline=true")

    site.is_settled()
    assert "compute3 mlx4_0" in (site.inventory.parent / "fabric-ib.json").read_text(encoding="utf-8")
    for partitions, names in site.texts():
        assert ("node3" in partitions + names, "# compute3" in partitions, '"compute3 mlx4_0"' in names) == (False, True, True)


@pytest.mark.proves("remove", "handover", "opensm_options", debian12=REAL)
def test_a_node_that_leaves(site: Site) -> None:
    with site.edited() as (_rdma, managers):
        del managers["node2"]
    converge(site.cluster, inventory=site.inventory)
    assert site.cluster.shell("node2", "systemctl is-active 'rdma-opensm@ib'; pgrep -x opensm").stdout.split() == ["inactive"]
    # The host of the only subnet manager stays while other hosts need it.
    said = " ".join(site.play("remove", "-e", "rdma_remove=true", "--limit", "node1", fails=True).output.split())
    assert "Hosts outside this run, such as node2, would be left without a subnet manager" in said
    assert site.cluster.shell("node1", "systemctl is-active rdma-opensm@ib").stdout.strip() == "active"
    site.play("remove", "-e", "rdma_remove=true", "--limit", "node2")
    assert site.cluster.shell("node2", "find /etc/rdma-ofed -type f").stdout == ""

    with site.edited() as (rdma, _managers):
        del rdma["hosts"]["node2"]
        storage = rdma["vars"]["opensm_partitions"][1]
        storage["members"] = [member for member in storage["members"] if member.get("host") != "node2"]
    converge(site.cluster, "--limit", "opensm", inventory=site.inventory)
    site.cluster.command("fault", "cut", "node2")
    output = site.play("fabric", fails=True).output
    assert "node_lost" in output and "Findings: 1 error, 0 warnings, 0 notices." in output
    site.play("fabric", "-e", "fabric_save_baseline=true")

    site.is_settled()
    for partitions, names in site.texts():
        assert [text for text in (FORMER, NEW, "node2") if text in partitions + names] == []
