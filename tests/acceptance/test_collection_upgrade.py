# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site that the collection 1.0.0 provisioned, and that the present one takes on: check mode names what changes, and the run does just that.

The tests depend on their order in the file. They need the commit of 1.0.0 in the history.
"""

from __future__ import annotations

import collections.abc
import os
import pathlib
import subprocess
import typing as t

import pytest
import records
import yaml
from cluster import BIN, Cluster
from common import ROOT
from conftest import converge
from proofs import REAL

FIRST = "33db46cac92fbef1e69e0b84579ef92c4745f717"
"""The commit of 1.0.0."""
PREFIX = "rdma-upgraded"
# What makes each role leave a record or a file of its own.
SITE: dict[str, t.Any] = {
    "opensm_standby": True,
    "opensm_routing_engine": "updn",
    "opensm_options": {"max_wire_smps": 8},
    "opensm_partitions": [
        {"name": "Default", "pkey": 0x7FFF, "ipoib": True, "members": [{"keyword": "ALL"}]},
        {"name": "storage", "pkey": 0x8001, "ipoib": True, "members": [{"group": "rdma"}, {"host": "node3", "membership": "limited"}]},
    ],
    "kernel_modules_options": {"ib_ipoib": {"send_queue_size": 512}},
}
# Everything that must not change on its own account: what the nodes run, and what they would run after a boot.
LIVE = r"""
ip -brief address show ib0; pgrep -x opensm; cat /sys/class/infiniband/*/ports/1/pkeys/* | sort -u
modprobe --showconfig | grep '^options ib_ipoib'
"""


def installed(folder: pathlib.Path) -> pathlib.Path:
    """Build the tarball of 1.0.0 and install it into a folder. Returns the path for Ansible."""
    source, target = folder / "source", folder / "collections"
    source.mkdir()
    archive = subprocess.run(["git", "archive", FIRST], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(source)], input=archive, check=True)
    galaxy = [str(BIN / "ansible-galaxy"), "collection"]
    subprocess.run([*galaxy, "build", "--output-path", str(folder)], cwd=source, check=True, capture_output=True)
    (tarball,) = folder.glob("*.tar.gz")
    subprocess.run([*galaxy, "install", str(tarball), "--offline", "--no-deps", "--force", "-p", str(target)], cwd=folder, check=True, capture_output=True)
    return target


def declare(inventory: dict[str, t.Any]) -> None:
    groups = inventory["all"]["children"]
    groups["rdma"]["vars"] = SITE
    groups["opensm"]["hosts"]["node2"] = None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[tuple[Cluster, pathlib.Path]]:
    """Yield a lab that 1.0.0 has provisioned, and its inventory."""
    folder = tmp_path_factory.mktemp("first")
    if subprocess.run(["git", "cat-file", "-e", FIRST], cwd=ROOT, check=False, capture_output=True).returncode:
        pytest.skip("the history of this checkout does not reach back to 1.0.0: git fetch --unshallow")
    first = Cluster(PREFIX, collections=installed(folder))
    try:
        first.command("up", "--topology", "3-nodes")
        inventory = yaml.safe_load(first.inventory.read_text(encoding="utf-8"))
        declare(inventory)
        path = folder / "inventory.yml"
        path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
        converge(first, inventory=path)
        run = converge(first, inventory=path)
        assert records.changes(run.events) == {}, run.output
        yield Cluster(PREFIX), path
    finally:
        if not os.environ.get("RDMA_KEEP"):
            first.command("down")


def live(cluster: Cluster) -> dict[str, str]:
    return {node: cluster.shell(node, LIVE).stdout for node in ("node1", "node2", "node3")}


@pytest.mark.long
@pytest.mark.proves("check_mode", "unchanged", debian12=REAL)
def test_the_run_does_what_check_mode_says_and_nothing_that_runs_is_disturbed(site: tuple[Cluster, pathlib.Path]) -> None:
    cluster, inventory = site
    before = live(cluster)
    predicted = cluster.play("site", "--check", "--diff", inventory=inventory)
    assert predicted.status == 0, predicted.output
    run = converge(cluster, inventory=inventory)
    assert records.differences(predicted.events, run.events) == []
    assert live(cluster) == before
    assert records.changes(converge(cluster, inventory=inventory).events) == {}
    verified = cluster.play("verify", inventory=inventory)
    assert verified.status == 0, verified.output


@pytest.mark.long
@pytest.mark.proves("remove", debian12=REAL)
def test_what_1_0_0_recorded_is_removed(site: tuple[Cluster, pathlib.Path]) -> None:
    cluster, inventory = site
    run = cluster.play("remove", "-e", "rdma_remove=true", "-e", "rdma_allow_removal=true", inventory=inventory)
    assert run.status == 0, run.output
    for node in ("node1", "node2", "node3"):
        left = cluster.shell(node, "grep -rl 'rdma.ofed' /etc --include='*' 2>/dev/null; pgrep -a opensm").stdout
        assert left == "", (node, left)
