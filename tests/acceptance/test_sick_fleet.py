# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Eight nodes, six of them broken at once, each in another way: the two healthy ones get everything that they would get alone.

The tests depend on their order in the file: the first one finds bare nodes.
"""

from __future__ import annotations

import collections.abc
import copy
import json
import os
import pathlib
import typing as t

import pytest
import records
import sick
import yaml
from cluster import Cluster, Run
from proofs import LOOK_ALIKE, REAL

pytestmark = pytest.mark.fleet
PREFIX = "rdma-sick"
WHOLE = ("node1", "node2")
LOST_RAIL, HAND_MADE, NO_PACKAGES, ETHERNET, POWERED_OFF, HANGING = ("node%d" % number for number in range(3, 9))
SICK = {LOST_RAIL, HAND_MADE, NO_PACKAGES, ETHERNET, POWERED_OFF, HANGING}
ILLNESSES = {POWERED_OFF: sick.UNROUTED, HANGING: sick.SILENT}
# As unattended-upgrades does while it runs.
LOCKED = "import fcntl, time; file = open('/var/lib/dpkg/lock-frontend', 'w'); fcntl.lockf(file, fcntl.LOCK_EX); time.sleep(86400)"
LOCKS = 'systemd-run --quiet --unit=locks python3 -c "%s"' % LOCKED
PROFILE = "printf '[Match]\\nName=ib0\\n[Network]\\nAddress=10.99.0.1/24\\n' >/etc/systemd/network/90-storage.network"
OTHER_MODE = "# lab node6/mlx5_0 current=LINK_TYPE_P1:ETH\n"


class Fleet:
    """The lab, and its inventory with and without the sick hosts."""

    def __init__(self, lab: Cluster, ward: sick.Ward) -> None:
        self.lab, self.ward = lab, ward
        inventory = yaml.safe_load(lab.inventory.read_text(encoding="utf-8"))
        hosts = inventory["all"]["children"]["rdma"]["hosts"]
        self.whole = copy.deepcopy(inventory)
        self.whole["all"]["children"]["rdma"]["hosts"] = {name: hosts[name] for name in WHOLE}
        hosts[LOST_RAIL]["rdma_ports"].append("0000:99:00.0/1")
        for number, name in ((7, POWERED_OFF), (8, HANGING)):
            hosts[name] = {"ipoib_interfaces": [{"name": "ib0", "addresses": ["10.20.0.%d/24" % number], "mode": "auto"}]}
        self.all = inventory

    def play(self, playbook: str, *arguments: str) -> Run:
        """Run a playbook with the sick hosts."""
        return self.lab.play(playbook, *arguments, inventory=self.ward.inventory(self.all, ILLNESSES), timeout=900)

    def designating(self, host: str, playbook: str, *arguments: str) -> Run:
        """Run a playbook with a sick host designated for the subnet manager and a healthy one as standby."""
        inventory = copy.deepcopy(self.all)
        inventory["all"]["children"]["opensm"]["hosts"] = dict.fromkeys((host, WHOLE[1]))
        inventory["all"].setdefault("vars", {})["opensm_standby"] = True
        return self.lab.play(playbook, *arguments, inventory=self.ward.inventory(inventory, ILLNESSES), timeout=900)

    def play_whole(self, playbook: str, *arguments: str) -> Run:
        """Run a playbook without the sick hosts."""
        return self.lab.play(playbook, *arguments, inventory=self.ward.inventory(self.whole, {}), timeout=900)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Fleet]:
    lab = Cluster(os.environ.get("RDMALAB_PREFIX", "") or PREFIX)
    topology = tmp_path_factory.mktemp("fleet") / "fleet.topo"
    topology.write_text(OTHER_MODE + lab.command("topology", "8", "--containers", "6"), encoding="utf-8")
    try:
        lab.command("up", "--topology", str(topology))
        for node, script in ((HAND_MADE, PROFILE), (NO_PACKAGES, LOCKS)):
            assert lab.shell(node, script).returncode == 0
        with sick.Ward() as ward:
            yield Fleet(lab, ward)
    finally:
        if not os.environ.get("RDMA_KEEP"):
            lab.command("down")


def ended(run: Run) -> set[str]:
    return {event["host"] for event in records.failures(run.events)}


def given(run: Run) -> set[tuple[str, str, str, bool]]:
    """Return what the healthy hosts got: host, task, status, and whether it changed something."""
    return {
        (event["host"], event["task"], event["status"], event["changed"])
        for event in run.events
        # Tasks that run once for all hosts may run on any of them.
        if event["event"] == "result" and event["host"] in WHOLE and (event["changed"] or event["action"].startswith("rdma.ofed."))
    }


def summary(run: Run) -> str:
    return run.output.rpartition("Summary: ")[2].partition("\nPLAY RECAP")[0]


def named(text: str) -> set[str]:
    """Return the hosts in a text, expanded from a folded list such as node[3-4]."""
    return {name for name in SICK if any(form in text for form in forms(name))}


def forms(name: str) -> list[str]:
    number = int(name[4:])
    ranges = ["node[%d-%d]" % (low, high) for low in range(1, number + 1) for high in range(number, 9) if low < high]
    return [name, *ranges]


@pytest.mark.proves("fleet", "check_mode", debian12=REAL)
def test_check_mode_foresees_the_same_for_whole_hosts(fleet: Fleet) -> None:
    with_sick, alone = fleet.play("site", "--check"), fleet.play_whole("site", "--check")
    assert alone.status == 0, alone.output
    assert with_sick.status != 0, with_sick.output
    assert given(with_sick) == given(alone), with_sick.output
    # Modules that are still to be loaded may create a missing port.
    assert named(summary(with_sick)) == SICK - {LOST_RAIL}, with_sick.output


@pytest.mark.proves("fleet", debian12=REAL)
def test_whole_hosts_are_served_completely_and_a_second_run_changes_nothing(fleet: Fleet) -> None:
    run = fleet.play("site")
    assert run.status != 0 and ended(run) <= SICK, run.output
    assert named(summary(run)) == SICK, run.output
    alone = fleet.play_whole("site", "--check")
    assert alone.status == 0, alone.output
    # The subnet manager knows the names of fewer hosts.
    assert {task for _play, task, _host in records.changes(alone.events)} <= {"rdma.ofed.opensm : Run the subnet managers and wait for them"}, alone.output
    again = fleet.play("site")
    assert again.status != 0 and records.changes(again.events) == {}, again.output
    assert named(summary(again)) == SICK, again.output
    assert not ended(again) & set(WHOLE)


def served(fleet: Fleet, playbook: str, **variables: t.Any) -> Run:
    """Check that a run gives healthy hosts everything that they would get alone, and that a second run changes nothing."""
    options = ("-e", json.dumps(variables))
    run = fleet.play(playbook, *options)
    assert run.status != 0 and ended(run) <= SICK, run.output
    alone = fleet.play_whole(playbook, "--check", *options)
    assert alone.status == 0 and records.changes(alone.events) == {}, run.output + alone.output
    again = fleet.play(playbook, *options)
    assert again.status != 0 and ended(again) <= SICK, again.output
    assert records.changes(again.events) == {}, again.output
    return run


@pytest.mark.proves("fleet", "verify", debian12=REAL)
def test_whole_hosts_are_verified(fleet: Fleet) -> None:
    run = fleet.play("verify")
    assert run.status != 0 and ended(run) == SICK, run.output
    assert named(run.output) == SICK, run.output


@pytest.mark.proves("fleet", "fabric", debian12=REAL)
def test_the_fabric_is_judged(fleet: Fleet) -> None:
    run = fleet.play("fabric")
    assert "Fabric ib: 1 switch" in run.output, run.output
    # A healthy host queries the fabric, which shows the adapters of all hosts.
    assert run.status == 0, run.output


@pytest.mark.proves("fleet", "upgrade", debian12=REAL)
def test_whole_hosts_are_upgraded(fleet: Fleet) -> None:
    run = served(fleet, "upgrade", ofed_extra_packages=["qperf"], rdma_drain_tasks="", rdma_undrain_tasks="")
    assert {host for _play, _task, host in records.changes(run.events)} >= set(WHOLE), run.output
    for node in WHOLE:
        assert fleet.lab.shell(node, "dpkg-query -W qperf").returncode == 0


@pytest.mark.proves("fleet", "parameters", debian12=LOOK_ALIKE)
def test_whole_hosts_get_their_firmware_settings(fleet: Fleet) -> None:
    config = [{"all": True, "parameters": {"NUM_OF_VFS": 4}}]
    run = served(fleet, "firmware", rdma_allow_container=True, hca_firmware_config=config)
    assert {host for _play, _task, host in records.changes(run.events)} >= set(WHOLE), run.output
    for node in WHOLE:
        assert "NUM_OF_VFS" in fleet.lab.shell(node, "mstconfig -d 0000:03:00.0 -e query NUM_OF_VFS | grep '0  *4'").stdout


@pytest.mark.proves("fleet", debian12=REAL)
def test_nothing_is_rebooted_that_has_nothing_pending(fleet: Fleet) -> None:
    served(fleet, "reboot", rdma_allow_reload=True, ofed_extra_packages=["qperf"])


@pytest.mark.proves("fleet", "monitoring", debian12=REAL)
def test_the_fabric_is_monitored(fleet: Fleet) -> None:
    served(fleet, "monitor", rdma_allow_container=True)


@pytest.mark.proves("fleet", "support", debian12=REAL)
def test_support_bundles_of_whole_hosts_are_there(fleet: Fleet, tmp_path: pathlib.Path) -> None:
    run = fleet.play("support_bundle", "-e", json.dumps({"support_bundle_dir": str(tmp_path)}))
    # The other hosts answer despite their other faults.
    assert run.status != 0 and ended(run) == {POWERED_OFF, HANGING}, run.output
    assert named(summary(run)) == {POWERED_OFF, HANGING} and "\nNext: " in summary(run), run.output
    assert list(tmp_path.iterdir()), run.output


# These playbooks change nothing on hosts in the declared state. A planned removal is enough to see which hosts it leaves out.
OTHERS: dict[str, tuple[str, ...]] = {
    "fabric": (),
    "upgrade": (),
    "firmware": ("-e", '{"rdma_allow_container": true, "hca_firmware_config": [{"all": true, "parameters": {"NUM_OF_VFS": 4}}]}'),
    "reboot": ("-e", "rdma_allow_reload=true"),
    "monitor": ("-e", "rdma_allow_container=true"),
    "remove": ("--check", "-e", "rdma_remove=true"),
}
# Besides site and verify, each host is designated in one of these playbooks, and each playbook has one host. All pairs would take too long.
DIAGONAL = dict(zip(sorted(SICK), OTHERS))


def copes(fleet: Fleet, host: str, playbook: str) -> None:
    """Check that the playbook serves the other hosts while a sick host is the designated one, on a site provisioned that way."""
    run = fleet.designating(host, playbook, *OTHERS[playbook])
    if playbook == "fabric":
        assert run.status == 0 and "Fabric ib: 1 switch" in run.output, run.output
        return
    assert run.status != 0, run.output
    assert ended(run) <= SICK and {POWERED_OFF, HANGING} <= ended(run), run.output
    assert named(summary(run)) >= {POWERED_OFF, HANGING} and "\nNext: " in summary(run), run.output


@pytest.mark.parametrize("host", sorted(SICK))
@pytest.mark.proves("fleet", debian12=REAL)
def test_a_sick_host_may_be_the_designated_one(fleet: Fleet, host: str) -> None:
    run = fleet.designating(host, "site")
    assert run.status != 0 and ended(run) <= SICK, run.output
    for node in WHOLE:
        assert "SMINFO_MASTER" in fleet.lab.shell(node, "sminfo").stdout
    seen = fleet.designating(host, "verify")
    assert seen.status != 0 and ended(seen) == SICK, seen.output
    copes(fleet, host, DIAGONAL[host])


@pytest.mark.long
@pytest.mark.parametrize("host", sorted(SICK))
@pytest.mark.proves("fleet", debian12=REAL)
def test_a_sick_host_may_be_the_designated_one_of_every_playbook(fleet: Fleet, host: str) -> None:
    # Otherwise the healthy hosts would deviate from the declaration.
    fleet.designating(host, "site")
    for playbook in OTHERS:
        copes(fleet, host, playbook)


@pytest.mark.proves("fleet", "remove", debian12=REAL)
def test_whole_hosts_are_rid_of_everything(fleet: Fleet) -> None:
    run = fleet.play("remove", "-e", "rdma_remove=true")
    assert run.status != 0 and ended(run) <= SICK, run.output
    for node in WHOLE:
        assert fleet.lab.shell(node, "pgrep -x opensm || find /etc/rdma-ofed -type f | grep .").returncode != 0
    again = fleet.play("remove", "-e", "rdma_remove=true")
    assert ended(again) <= SICK and records.changes(again.events) == {}, again.output
