# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes of Debian 12 and of Debian 13 in one cluster, and reboots of both."""

from __future__ import annotations

import collections.abc
import copy
import pathlib
import subprocess

import pytest
import records
import yaml
from cluster import Cluster
from conftest import converge

PREFIX = "rdma-suites"
RELEASES = {"node1": "bookworm", "node2": "trixie", "node3": "trixie"}
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def said(cluster: Cluster, command: str) -> dict[str, str]:
    """What a command prints on each node."""
    return {node: cluster.shell(node, command).stdout.strip() for node in RELEASES}


@pytest.fixture(scope="module")
def two_suites() -> collections.abc.Iterator[Cluster]:
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "two-suites")
        converge(cluster)
        yield cluster
    finally:
        cluster.command("down")


def test_both_releases_converge_and_verify(two_suites: Cluster) -> None:
    assert said(two_suites, ". /etc/os-release; echo $VERSION_CODENAME") == RELEASES
    assert records.changes(converge(two_suites).events) == {}
    assert two_suites.play("verify").status == 0


def test_all_nodes_come_back_from_a_reboot_as_they_were(two_suites: Cluster) -> None:
    before = said(two_suites, "cat " + BOOT_ID)
    assert len(set(before.values())) == len(RELEASES)
    inventory = str(two_suites.inventory)
    argv = [str(pathlib.Path(two_suites.lab[0]).with_name("ansible")), "-i", inventory, "rdma", "-m", "ansible.builtin.reboot"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    after = said(two_suites, "cat " + BOOT_ID)
    assert not set(before.values()) & set(after.values())
    # The journal is kept by the same id.
    assert said(two_suites, "journalctl --list-boots --no-pager | grep -c '^ *0 '$(tr -d - <%s)" % BOOT_ID) == dict.fromkeys(RELEASES, "1")
    two_suites.wait_until_green(60)
    assert records.changes(converge(two_suites).events) == {}


def test_a_node_that_is_shut_down_stays_down(two_suites: Cluster) -> None:
    two_suites.shell("node3", "systemctl poweroff")
    container = "%s-node3" % PREFIX
    subprocess.run(["docker", "wait", container], capture_output=True, timeout=60, check=True)
    argv = ["docker", "inspect", "--format={{.State.Status}} {{.State.ExitCode}}", container]
    assert subprocess.run(argv, capture_output=True, encoding="utf-8", check=True).stdout == "exited 0\n"
    two_suites.command("up")
    two_suites.wait_until_green(60)


def test_the_subnet_manager_runs_on_the_newer_release_too(two_suites: Cluster, tmp_path: pathlib.Path) -> None:
    inventory = copy.deepcopy(yaml.safe_load(two_suites.inventory.read_text(encoding="utf-8")))
    inventory["all"]["children"]["opensm"]["hosts"] = {"node2": {}}
    path = tmp_path / "inventory.yml"
    path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
    converge(two_suites, inventory=path)
    assert records.changes(converge(two_suites, inventory=path).events) == {}
    assert "SMINFO_MASTER" in two_suites.shell("node2", "sminfo -P 1 || sminfo").stdout
    assert two_suites.play("verify", inventory=path).status == 0
