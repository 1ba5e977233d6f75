# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes of Debian 12 and 13 in one cluster, and reboots of both."""

from __future__ import annotations

import collections.abc
import pathlib
import subprocess
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from conftest import converge
from proofs import REAL

PREFIX = "rdma-suites"
RELEASES = {"node1": "bookworm", "node2": "trixie", "node3": "trixie"}
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def said(cluster: Cluster, command: str) -> dict[str, str]:
    """Return the output of a command on each node."""
    return {node: cluster.shell(node, command).stdout.strip() for node in RELEASES}


class Suites(t.NamedTuple):
    cluster: Cluster
    inventory: pathlib.Path

    def converge(self) -> Run:
        return converge(self.cluster, inventory=self.inventory)

    def wait_until_green(self) -> None:
        self.cluster.wait_until_green(300, inventory=self.inventory)


@pytest.fixture(scope="module")
def two_suites(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Suites]:
    """The newer release runs the subnet manager; the older one does so in all other labs."""
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "two-suites")
        inventory = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))
        inventory["all"]["children"]["opensm"]["hosts"] = {"node2": {}}
        path = tmp_path_factory.mktemp("suites") / "inventory.yml"
        path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
        found = Suites(cluster, path)
        found.converge()
        yield found
    finally:
        cluster.command("down")


@pytest.mark.proves("opensm", "ifupdown", debian13=REAL)
def test_both_releases_converge_and_verify_with_the_subnet_manager_on_the_newer_one(two_suites: Suites) -> None:
    assert said(two_suites.cluster, ". /etc/os-release; echo $VERSION_CODENAME") == RELEASES
    assert "SMINFO_MASTER" in two_suites.cluster.shell("node2", "sminfo -P 1 || sminfo").stdout
    assert two_suites.cluster.shell("node2", "systemctl is-active rdma-opensm@ib").stdout.strip() == "active"
    assert two_suites.cluster.play("verify", inventory=two_suites.inventory).status == 0


@pytest.mark.proves("reboot", debian12=REAL, debian13=REAL)
def test_all_nodes_come_back_from_a_reboot_as_they_were(two_suites: Suites) -> None:
    cluster = two_suites.cluster
    before = said(cluster, "cat " + BOOT_ID)
    assert len(set(before.values())) == len(RELEASES)
    argv = [str(pathlib.Path(cluster.lab[0]).with_name("ansible")), "-i", str(two_suites.inventory), "rdma", "-m", "ansible.builtin.reboot"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    after = said(cluster, "cat " + BOOT_ID)
    assert not set(before.values()) & set(after.values())
    # The journal lists the boot under the same boot ID.
    assert said(cluster, "journalctl --list-boots --no-pager | grep -c '^ *0 '$(tr -d - <%s)" % BOOT_ID) == dict.fromkeys(RELEASES, "1")
    two_suites.wait_until_green()
    assert records.changes(two_suites.converge().events) == {}


def test_a_node_that_is_shut_down_stays_down(two_suites: Suites) -> None:
    two_suites.cluster.shell("node3", "systemctl poweroff")
    container = "%s-node3" % PREFIX
    subprocess.run(["docker", "wait", container], capture_output=True, timeout=300, check=True)
    argv = ["docker", "inspect", "--format={{.State.Status}} {{.State.ExitCode}}", container]
    assert subprocess.run(argv, capture_output=True, encoding="utf-8", check=True).stdout == "exited 0\n"
    two_suites.cluster.command("up")
    two_suites.wait_until_green()
