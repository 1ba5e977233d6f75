# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The opensm of a vendor's stack, together with another of its kind or with the distribution's, as master and as standby.

It is not part of this project. Its packages are taken from the directory `vendor` of RDMA_SHARED, which is `../shared` by default.
"""

from __future__ import annotations

import collections.abc
import os
import pathlib
import re
import subprocess
import time
import typing as t

import pytest
import yaml
from cluster import Cluster
from common import ROOT
from conftest import converge

SHARED = pathlib.Path(os.environ.get("RDMA_SHARED") or ROOT.parent / "shared")
PACKAGES = sorted(SHARED.glob("vendor/opensm-5.6.0.MLNX/*.deb"))
PREFIX = "rdma-vendor"
UNIT = "rdma-opensm@ib"
WITNESS = "node3"
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get -q -y %s >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; exit 1; }"
# opensm polls a missing master for 40 seconds.
SECONDS = 180


@pytest.fixture(scope="module")
def vendor() -> collections.abc.Iterator[Cluster]:
    """Yield three nodes with the vendor's opensm on two of them, and no subnet manager running."""
    if not PACKAGES:
        pytest.skip("no opensm of a vendor: there are no packages in %s/vendor/opensm-5.6.0.MLNX" % SHARED)
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "3-nodes")
        shell(cluster, WITNESS, INSTALL % "install infiniband-diags")
        for node in ("node1", "node2"):
            shell(cluster, node, "mkdir /srv/vendor")
            for path in PACKAGES:
                subprocess.run(["docker", "cp", str(path), "%s-%s:/srv/vendor/" % (PREFIX, node)], check=True, timeout=300)
            shell(cluster, node, INSTALL % "install infiniband-diags /srv/vendor/*.deb")
            assert "5.6.0.MLNX" in shell(cluster, node, "dpkg-query -W opensm")
        for node in ("node1", "node2", WITNESS):
            shell(cluster, node, "modprobe ib_umad")
        yield cluster
    finally:
        if not os.environ.get("RDMA_KEEP"):
            cluster.command("down")


def shell(cluster: Cluster, node: str, script: str) -> str:
    done = cluster.shell(node, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def order(cluster: Cluster, folder: pathlib.Path, *nodes: str) -> pathlib.Path:
    """Return an inventory with the first of the nodes designated and the second as standby."""
    inventory = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))
    inventory["all"]["children"]["opensm"] = {"hosts": {node: {"opensm_rank": rank} for rank, node in enumerate(nodes)}, "vars": {"opensm_standby": True}}
    path = folder / ("%s.yml" % nodes[0])
    path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
    return path


def managers(cluster: Cluster) -> dict[str, tuple[int, int]]:
    """Return state and priority of each subnet manager by host, as its master lists them."""
    hosts = {int(shell(cluster, node, "cat /sys/class/infiniband/*/ports/1/gids/0").replace(":", "")[-16:], 16): node for node in ("node1", "node2")}
    text = cluster.shell(WITNESS, "saquery SMIR").stdout
    records = [dict(re.findall(r"(\w+)\.\.+(\w+)", block)) for block in text.split("SMInfoRecord dump:")[1:]]
    return {hosts[int(record["GUID"], 16)]: (int(record["SMState"]), int(record["Priority"])) for record in records}


STANDBY, MASTER = 2, 3


def wait_for(cluster: Cluster, wanted: t.Mapping[str, tuple[int, int]]) -> None:
    deadline = time.monotonic() + SECONDS
    while (found := managers(cluster)) != wanted:
        assert time.monotonic() < deadline, "%s, not %s: %s" % (found, wanted, cluster.shell(WITNESS, "sminfo; saquery SMIR").stdout)
        time.sleep(1)


def run(cluster: Cluster, inventory: pathlib.Path, *arguments: str) -> None:
    converge(cluster, "--tags", "opensm", *arguments, inventory=inventory)


def require_unchanged(cluster: Cluster, inventory: pathlib.Path, *arguments: str) -> None:
    output = converge(cluster, "--tags", "opensm", *arguments, inventory=inventory).output
    assert set(re.findall(r"\bchanged=(\d+)", output)) == {"0"}, output


def require_moves(cluster: Cluster, folder: pathlib.Path) -> None:
    """Starts with node1 as master. The designation moves to node2 and back, each time with the node's own priority and without a failure."""
    for first, second in (("node2", "node1"), ("node1", "node2")):
        inventory = order(cluster, folder, first, second)
        run(cluster, inventory)
        wait_for(cluster, {first: (MASTER, 13), second: (STANDBY, 12)})
        require_unchanged(cluster, inventory)


def require_failover(cluster: Cluster, folder: pathlib.Path) -> None:
    """node2 takes over from node1. Runs on it succeed, and node1 becomes master again when it returns."""
    inventory = order(cluster, folder, "node1", "node2")
    shell(cluster, "node1", "systemctl stop %s" % UNIT)
    deadline = time.monotonic() + SECONDS
    while managers(cluster).get("node2") != (MASTER, 12):
        assert time.monotonic() < deadline, managers(cluster)
        time.sleep(1)
    require_unchanged(cluster, inventory, "--limit", "node2")
    shell(cluster, "node1", "systemctl start %s" % UNIT)
    wait_for(cluster, {"node1": (MASTER, 13), "node2": (STANDBY, 12)})


@pytest.mark.long
def test_with_one_of_its_kind(vendor: Cluster, tmp_path: pathlib.Path) -> None:
    """The vendor's opensm announces master priority 14 by default. The run waited for the declared priority, and no other subnet manager could win."""
    inventory = order(vendor, tmp_path, "node1", "node2")
    run(vendor, inventory)
    wait_for(vendor, {"node1": (MASTER, 13), "node2": (STANDBY, 12)})
    require_unchanged(vendor, inventory)
    require_failover(vendor, tmp_path)
    require_moves(vendor, tmp_path)


def test_with_that_of_the_distribution(vendor: Cluster, tmp_path: pathlib.Path) -> None:
    shell(vendor, "node2", INSTALL % "install --allow-downgrades opensm=3.3.*")
    run(vendor, order(vendor, tmp_path, "node1", "node2"))
    wait_for(vendor, {"node1": (MASTER, 13), "node2": (STANDBY, 12)})
    assert [shell(vendor, node, "grep -c ^master_sm_priority /etc/rdma-ofed/opensm/ib/opensm.conf || true") for node in ("node1", "node2")] == ["1", "0"]
    require_failover(vendor, tmp_path)
    require_moves(vendor, tmp_path)
