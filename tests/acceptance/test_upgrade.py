# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster is upgraded in batches: their order, where the run stops, and how it continues. The stack gets one more small package."""

from __future__ import annotations

import collections.abc
import json
import pathlib
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from conftest import converge
from proofs import REAL

PACKAGE = "hello"
NODES = ("node1", "node2", "node3")


class Site(t.NamedTuple):
    lab: Cluster
    inventory: pathlib.Path
    drain: pathlib.Path
    undrain: pathlib.Path
    log: pathlib.Path

    def play(self, playbook: str, *arguments: str, **variables: t.Any) -> Run:
        hooks = {"rdma_drain_tasks": str(self.drain), "rdma_undrain_tasks": str(self.undrain)}
        return self.lab.play(playbook, *arguments, "-e", json.dumps({**hooks, **variables}), inventory=self.inventory)

    def upgrade(self, *arguments: str, **variables: t.Any) -> Run:
        return self.play("upgrade", *arguments, **{"ofed_extra_packages": [PACKAGE], "rdma_upgrade_groups": ["compute"], **variables})

    def noted(self) -> list[str]:
        """Return what the hooks recorded since the last call."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    def has_package(self, node: str) -> bool:
        return self.lab.shell(node, "dpkg -s %s" % PACKAGE).returncode == 0


@pytest.fixture(scope="module", autouse=True)
def provisioned_again(lab: Cluster) -> collections.abc.Iterator[None]:
    """Provision the lab with its own inventory again, for later tests."""
    yield
    converge(lab)


@pytest.fixture
def site(lab: Cluster, tmp_path: pathlib.Path, edited: t.Callable[..., pathlib.Path]) -> collections.abc.Iterator[Site]:
    """Yield a site in which node3 computes, node1 runs the subnet manager, and node2 is the standby."""

    def edit(inventory: dict[str, t.Any]) -> None:
        inventory["all"]["children"]["opensm"]["hosts"] = {"node1": None, "node2": None}
        inventory["all"]["children"]["compute"] = {"hosts": {"node3": None, "node2": None}}

    log = tmp_path / "log"
    for name in ("drain", "undrain"):
        note = {"ansible.builtin.shell": "echo %s {{ inventory_hostname }} >>%s" % (name, log), "delegate_to": "localhost", "changed_when": False}
        stop = {"ansible.builtin.fail": {"msg": "its jobs do not end"}, "when": "inventory_hostname == bad | default('')"}
        tasks = [note, stop] if name == "drain" else [note]
        (tmp_path / ("%s.yml" % name)).write_text(yaml.safe_dump(tasks), encoding="utf-8")
    yield Site(lab, edited(edit), tmp_path / "drain.yml", tmp_path / "undrain.yml", log)
    for node in NODES:
        lab.shell(node, "apt-get purge -qq -y %s; rm -f /etc/modprobe.d/rdma-ofed.conf; rm -rf /var/lib/rdma.ofed/fabric" % PACKAGE)


def failures(run: Run) -> str:
    return " ".join(str(event["msg"]) for event in records.failures(run.events))


@pytest.mark.proves("upgrade", debian12=REAL)
def test_an_upgrade_stops_at_a_bad_batch_and_goes_on_there(site: Site) -> None:
    predicted = site.upgrade("--check")
    assert predicted.status == 0, predicted.output
    for line in ("batch 1 of 3 (compute): node3", "batch 2 of 3 (subnet manager, standby): node2", "batch 3 of 3 (subnet manager): node1"):
        assert line in predicted.output
    assert not any(site.has_package(node) for node in NODES)
    site.noted()

    stopped = site.upgrade(bad="node2")
    assert stopped.status != 0
    assert site.noted() == ["drain node3", "undrain node3", "drain node2"]
    assert [site.has_package(node) for node in NODES] == [False, False, True]
    for words in ("its jobs do not end", "left out of service", "batch 2 of 3 (subnet manager, standby: node2)", "Run the same command again to resume"):
        assert words in failures(stopped)

    resumed = site.upgrade()
    assert resumed.status == 0, resumed.output
    assert site.noted() == ["undrain node3", "drain node2", "undrain node2", "drain node1", "undrain node1"]
    for line in ("batch 1 of 2 (subnet manager, standby): node2", "batch 2 of 2 (subnet manager): node1", "nothing to do on 1 of 3 hosts"):
        assert line in resumed.output
    assert all(site.has_package(node) for node in NODES)

    again = site.upgrade()
    assert again.status == 0, again.output
    assert records.changes(again.events) == {}
    assert "nothing to do on 3 of 3 hosts" in again.output
    assert sorted(site.noted()) == ["undrain %s" % node for node in NODES]


@pytest.mark.proves("upgrade", debian12=REAL)
def test_with_a_limit_the_others_are_left_alone_and_a_host_in_no_group_is_an_error(site: Site) -> None:
    limited = site.upgrade("--limit", "node3")
    assert limited.status == 0, limited.output
    assert site.noted() == ["drain node3", "undrain node3"]
    refused = site.upgrade("--limit", "node1,node3", rdma_upgrade_groups=["opensm"])
    assert refused.status != 0
    assert "node3 would be skipped" in failures(refused)
    assert not site.has_package("node1")


@pytest.mark.proves("upgrade", debian12=REAL)
def test_what_is_pending_is_told_and_nothing_is_reloaded_unless_it_is_allowed(site: Site) -> None:
    options = {"kernel_modules_options": {"ib_ipoib": {"send_queue_size": 1024}}}
    assert site.play("site", **options).status == 0
    told = site.play("reboot", **options)
    assert told.status == 0, told.output
    assert records.changes(told.events) == {}
    assert "ib_ipoib send_queue_size" in told.output
    assert "nothing to do on 3 of 3 hosts" in told.output
    assert site.noted() == []
    foreseen = site.play("reboot", "--check", rdma_allow_reboot=True, **options)
    assert foreseen.status == 0, foreseen.output
    rebooted = [host for _play, task, host in records.changes(foreseen.events) if task.endswith("Reboot the node")]
    assert rebooted == ["node3", "node2", "node1"]


@pytest.mark.proves("upgrade", debian12=REAL)
def test_a_port_that_goes_down_meanwhile_stops_the_run_though_its_node_is_in_no_batch(site: Site, tmp_path: pathlib.Path) -> None:
    pull = tmp_path / "pull.yml"
    argv = [*site.lab.lab, "fault", "link", "node2", "down"]
    pull.write_text(yaml.safe_dump([{"ansible.builtin.command": {"argv": argv}, "delegate_to": "localhost"}]), encoding="utf-8")
    try:
        run = site.upgrade("--limit", "node3", rdma_drain_tasks=str(pull), rdma_settle_timeout=10)
    finally:
        site.lab.command("fault", "link", "node2", "up")
    assert run.status != 0
    assert "1 ports are no longer active after batch 1 of 1 (compute: node3)" in failures(run)
