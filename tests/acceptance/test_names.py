# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names that change: RDMA devices that udev renames at boot, and hosts whose inventory name differs from their host name."""

from __future__ import annotations

import collections.abc
import pathlib
import typing as t

import pytest
import records
import yaml
from cluster import Cluster
from conftest import converge
from proofs import REAL

PREFIX = "rdma-names"
# By inventory name. One host has the other's inventory name as its host name.
CONTAINERS = {"mgmt1": "node1", "node1": "node2"}
PORTS = {"mgmt1": "0000:03:00.0/1", "node1": "0x0002c90300001011"}


class Site(t.NamedTuple):
    cluster: Cluster
    inventory: pathlib.Path

    def devices(self) -> list[str]:
        return [self.cluster.shell(node, "ls /sys/class/infiniband").stdout.strip() for node in CONTAINERS.values()]

    def verify(self, *arguments: str) -> None:
        run = self.cluster.play("verify", *arguments, inventory=self.inventory)
        assert run.status == 0, run.output


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Site]:
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "2-nodes")
        inventory = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))
        groups = inventory["all"]["children"]
        nodes = groups["rdma"]["hosts"]
        groups["rdma"]["hosts"] = {host: {**nodes[node], "rdma_ports": [PORTS[host]]} for host, node in CONTAINERS.items()}
        groups["opensm"]["hosts"] = {"mgmt1": {"opensm_port": PORTS["mgmt1"]}}
        path = tmp_path_factory.mktemp("names") / "inventory.yml"
        path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
        converge(cluster, inventory=path)
        yield Site(cluster, path)
    finally:
        cluster.command("down")


@pytest.mark.proves("names", "opensm", debian12=REAL)
def test_a_master_is_who_has_its_port_guid(site: Site) -> None:
    site.verify()
    site.verify("--limit", "node1")
    limited = converge(site.cluster, "--limit", "node1", inventory=site.inventory)
    assert records.changes(limited.events) == {}


@pytest.mark.proves("names", "reboot", debian12=REAL)
def test_after_a_reboot_with_other_names_all_is_as_declared(site: Site) -> None:
    assert site.devices() == ["mlx5_0", "mlx5_0"]
    site.cluster.command("restart", "--all")
    assert site.devices() == ["ibp3s0f0", "ibp3s0f0"]
    site.cluster.wait_until_green(300, inventory=site.inventory)
    assert records.changes(converge(site.cluster, inventory=site.inventory).events) == {}
    run = site.cluster.play("site", "--check", "-e", '{"rdma_ports": ["mlx5_0/1"]}', inventory=site.inventory)
    assert run.status != 0
    assert "probably ibp3s0f0/1 now: write 0000:03:00.0/1" in " ".join(run.output.split())
    assert records.changes(run.events) == {}
