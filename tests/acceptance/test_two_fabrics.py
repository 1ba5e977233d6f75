# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts with a port on each of two fabrics: each fabric has its own master and standby, and swapped cables are detected."""

from __future__ import annotations

import collections.abc
import contextlib
import pathlib
import re
import typing as t

import pytest
import records
import tasks
import yaml
from cluster import Cluster, environment
from conftest import converge
from proofs import REAL

STORAGE_PREFIX = "0xfe80000000000001"
NODES = ("node1", "node2", "node3")
SHARED = {
    "rdma_fabrics": {"ib": ["mlx5_0/1"], "storage": ["mlx5_1/1"]},
    "opensm_fabrics": {"storage": {"subnet_prefix": STORAGE_PREFIX}},
    "opensm_standby": True,
    "ipoib_interfaces": [],
}
# Port, declared fabric, and the adapter of the subnet manager that it sees: at switch2 and at switch1.
SWAPPED = (
    (("mlx5_0/1", "ib", "node1 mlx5_1"), ("mlx5_1/1", "storage", "node2 mlx5_0")),
    (("mlx5_1/1", "storage", "node1 mlx5_0"), ("mlx5_0/1", "ib", "node2 mlx5_1")),
)
MEETING = r"port %s \(port GUID 0x[0-9a-f]{16}\) is declared on fabric %s, and sees the (?:master|standby) port GUID [^.]*'%s"


@contextlib.contextmanager
def two_fabrics(topology: str, folder: pathlib.Path) -> collections.abc.Iterator[tuple[Cluster, pathlib.Path]]:
    """Yield a lab, and an inventory in which node1 is designated for one fabric and node2 for the other."""
    cluster = Cluster("rdma-%s" % topology)
    try:
        cluster.command("up", "--topology", topology)
        inventory = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))
        for own in inventory["all"]["children"]["rdma"]["hosts"].values():
            own.pop("ipoib_interfaces", None)
        inventory["all"]["vars"] = {**inventory["all"].get("vars", {}), **SHARED}
        inventory["all"]["children"]["rdma"].get("vars", {}).pop("ipoib_interfaces", None)
        ranks = {"node1": {"ib": 1, "storage": 2}, "node2": {"ib": 2, "storage": 1}}
        inventory["all"]["children"]["opensm"]["hosts"] = {node: {"opensm_rank": rank} for node, rank in ranks.items()}
        path = folder / "inventory.yml"
        path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
        yield cluster, path
    finally:
        cluster.command("down")


def seen(inventory: pathlib.Path) -> dict[str, dict[str, dict[str, t.Any]]]:
    """Return the results of opensm_info on each node, by port."""
    found = tasks.run(inventory, NODES, [tasks.module("opensm_info", known_hosts=list(NODES))], environment=environment())
    return {node: {fabric["port"]: fabric for fabric in result["fabrics"]} for node, (result,) in found.items()}


def states(fabrics: dict[str, dict[str, t.Any]], port: str) -> dict[str, str]:
    """Return the state of each subnet manager on a port's fabric, by host."""
    assert fabrics[port]["problem"] == "", fabrics[port]
    return {manager["host"]: manager["state"] for manager in fabrics[port]["managers"]}


def instances(cluster: Cluster, node: str) -> dict[str, str]:
    """Return the process of each of the collection's units, by unit name."""
    units = cluster.shell(node, "systemctl list-units --no-legend --plain 'rdma-opensm@*' | cut -d ' ' -f 1").stdout.split()
    return {unit: cluster.shell(node, "systemctl show -p MainPID --value %s" % unit).stdout.strip() for unit in units}


@pytest.mark.proves("fabrics", debian12=REAL)
def test_each_fabric_has_its_own_master(tmp_path: pathlib.Path) -> None:
    with two_fabrics("two-fabrics", tmp_path) as (cluster, inventory):
        predicted = converge(cluster, "--check", inventory=inventory)
        done = converge(cluster, inventory=inventory)
        assert records.differences(predicted.events, done.events) == []
        assert records.changes(converge(cluster, inventory=inventory).events) == {}
        found = seen(inventory)
        for node in NODES:
            assert states(found[node], "mlx5_0/1") == {"node1": "MASTER", "node2": "STANDBY"}
            assert states(found[node], "mlx5_1/1") == {"node2": "MASTER", "node1": "STANDBY"}
        for node in ("node1", "node2"):
            assert sorted(instances(cluster, node)) == ["rdma-opensm@ib.service", "rdma-opensm@storage.service"]
        assert instances(cluster, "node3") == {}
        prefixes = {port: fabric["subnet_prefix"] for port, fabric in found["node3"].items()}
        assert prefixes == {"mlx5_0/1": "0xfe80000000000000", "mlx5_1/1": STORAGE_PREFIX}
        verified = cluster.play("verify", inventory=inventory)
        assert verified.status == 0, verified.output
        lose_the_second(cluster, inventory)
        move(cluster, inventory)


def lose_the_second(cluster: Cluster, inventory: pathlib.Path) -> None:
    """Check that the fabric declared last is judged like the first one."""
    units = "rdma-opensm@storage.service"
    assert cluster.shell("node2", "systemctl stop %s" % units).returncode == 0
    over = cluster.play("verify", "-e", "node_check_wait=0", inventory=inventory)
    # The declared standby takes over, now or soon. The designated host lacks the subnet manager that it should run.
    assert "opensm of fabric storage: wanted running, found stopped" in over.output and "fabric ib" not in over.output, over.output
    assert cluster.shell("node1", "systemctl stop %s" % units).returncode == 0
    lost = cluster.play("verify", inventory=inventory)
    assert lost.status != 0 and "subnet manager of fabric storage: wanted one master on node2, found none" in lost.output, lost.output
    assert "subnet manager of fabric ib" not in lost.output, lost.output
    for node in ("node2", "node1"):
        assert cluster.shell(node, "systemctl start %s" % units).returncode == 0
    verified = cluster.play("verify", "-e", "node_check_wait=120", inventory=inventory)
    assert verified.status == 0, verified.output


def move(cluster: Cluster, inventory: pathlib.Path) -> None:
    """Move the designation of one fabric. The other fabric is not affected."""
    changed = yaml.safe_load(inventory.read_text(encoding="utf-8"))
    hosts: dict[str, t.Any] = changed["all"]["children"]["opensm"]["hosts"]
    hosts["node1"]["opensm_rank"]["ib"], hosts["node2"]["opensm_rank"]["ib"] = 2, 1
    inventory.write_text(yaml.safe_dump(changed), encoding="utf-8")
    before = {node: instances(cluster, node)["rdma-opensm@storage.service"] for node in ("node1", "node2")}
    converge(cluster, inventory=inventory)
    found = seen(inventory)["node3"]
    assert states(found, "mlx5_0/1") == {"node2": "MASTER", "node1": "STANDBY"}
    assert states(found, "mlx5_1/1") == {"node2": "MASTER", "node1": "STANDBY"}
    assert {node: instances(cluster, node)["rdma-opensm@storage.service"] for node in before} == before


@pytest.mark.proves("fabrics", "verify", debian12=REAL)
def test_swapped_cables_are_found_and_named(tmp_path: pathlib.Path) -> None:
    with two_fabrics("two-fabrics-swapped", tmp_path) as (cluster, inventory):
        run = cluster.play("site", inventory=inventory)
        assert run.status != 0, run.output
        said = " ".join(run.output.split())
        assert "which is declared on another fabric: a cable is plugged into the wrong switch, or rdma_fabrics has the wrong port" in said, said
        # At each switch, two subnet managers of different fabrics meet. The one with the lower rank names the other and is stopped.
        for ends in SWAPPED:
            named = [end for end in ends if re.search(MEETING % end, said)]
            assert len(named) == 1, said
        left = [(node, unit) for node in NODES for unit in sorted(instances(cluster, node))]
        assert len(left) == 2, left
        # Another run does not help.
        assert cluster.play("site", "--tags", "opensm", inventory=inventory).status != 0
        assert [(node, unit) for node in NODES for unit in sorted(instances(cluster, node))] == left
