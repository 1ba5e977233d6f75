# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hooks for Slurm, with a real Slurm: slurmctld on node1, slurmd on node2."""

from __future__ import annotations

import collections.abc
import copy
import json
import pathlib
import re
import threading
import time
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from proofs import REAL
from slurm_lab import USER, configuration, installation

CONTROLLER, NODE = "node1", "node2"
OURS = "rdma.ofed firmware"
CONFIG = configuration(NODE, partition="Nodes=" + NODE)
POWERCYCLE = "cxemu-ctl 0000:03:00.0 powercycle"
DRAIN, UNDRAIN = "take_out_of_service", "bring_back_into_service"
HOOKS = {"rdma_drain_tasks": "slurm", "rdma_undrain_tasks": "slurm"}


class Slurm:
    """The lab's Slurm, and playbooks that use it."""

    def __init__(self, lab: Cluster, folder: pathlib.Path) -> None:
        self.lab = lab
        inventory = copy.deepcopy(yaml.safe_load(lab.inventory.read_text(encoding="utf-8")))
        inventory["all"]["children"]["slurm_controller"] = {"hosts": {CONTROLLER: None}}
        self.inventory = folder / "inventory.yml"
        self.inventory.write_text(yaml.safe_dump(inventory), encoding="utf-8")
        self.playbook = folder / "hooks.yml"

    def do(self, command: str) -> str:
        done = self.lab.shell(CONTROLLER, command)
        assert done.returncode == 0, command + done.stdout + done.stderr
        return done.stdout

    def node(self) -> tuple[set[str], str]:
        """Return the flags of the node's state, and its reason."""
        text = self.do("scontrol show node %s" % NODE)
        state, reason = re.search(r"\sState=(\S+)", text), re.search(r"\sReason=(.*) \[", text)
        assert state
        return set(state[1].split("+")), reason[1] if reason else ""

    def wait(self, *flags: str) -> None:
        deadline = time.monotonic() + 120
        while self.node()[0] != set(flags):
            assert time.monotonic() < deadline, self.node()
            time.sleep(0.3)

    def job(self, name: str) -> str:
        """Submit a job that runs until it is released or cancelled, wait until it runs, and return its job ID."""
        script = "while ! [ -e /tmp/released ]; do sleep 0.2; done"
        number = self.do("sbatch --parsable --chdir=/ --output=/dev/null --job-name=%s --wrap '%s'" % (name, script)).strip()
        self.wait("ALLOCATED")
        return number

    def release_when_draining(self) -> None:
        self.wait("ALLOCATED", "DRAIN")
        time.sleep(4)
        self.lab.shell(NODE, "touch /tmp/released")

    def play(self, *arguments: str, hooks: tuple[str, ...] = (DRAIN, UNDRAIN), **variables: t.Any) -> Run:
        """Run the hooks alone, with no pending reset between them."""
        tasks = [{"ansible.builtin.include_role": {"name": "rdma.ofed.node_service", "tasks_from": hook}} for hook in hooks]
        self.playbook.write_text(yaml.safe_dump([{"hosts": NODE, "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
        return self.lab.play(
            str(self.playbook), *arguments, "-e", json.dumps({**HOOKS, "node_service_purpose": "firmware", **variables}), inventory=self.inventory
        )

    def firmware(self, *arguments: str, **variables: t.Any) -> Run:
        common = {"rdma_allow_container": True, "hca_firmware_config": [{"all": True, "parameters": {"NUM_OF_VFS": 4}}]}
        given = {**common, **HOOKS, "rdma_allow_reboot": True, **variables}
        return self.lab.play("firmware", "--limit", NODE, *arguments, "-e", json.dumps(given), inventory=self.inventory)


@pytest.fixture(scope="module")
def installed(lab: Cluster, tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Slurm]:
    for host, service in ((CONTROLLER, "slurmctld"), (NODE, "slurmd")):
        done = lab.shell(host, installation(CONFIG, service))
        assert done.returncode == 0, done.stdout + done.stderr
    slurm = Slurm(lab, tmp_path_factory.mktemp("slurm"))
    slurm.wait("IDLE")
    yield slurm
    lab.shell(NODE, "mstconfig -y -d 03:00.0 reset; " + POWERCYCLE)
    for host in (CONTROLLER, NODE):
        lab.shell(
            host,
            "apt-get purge -qq -y --autoremove slurm* munge mstflint pciutils >/dev/null; rm -rf /etc/slurm /var/lib/slurm /etc/munge; userdel --remove %s"
            % USER,
        )


@pytest.fixture
def slurm(installed: Slurm) -> collections.abc.Iterator[Slurm]:
    """Yield an idle node without jobs, and restore that state."""
    installed.lab.shell(NODE, "rm -f /tmp/released")
    yield installed
    installed.do("scancel --user=root")
    installed.lab.shell(NODE, "systemctl start slurmd")
    if installed.node()[0] & {"DRAIN", "DOWN"}:
        installed.do("scontrol update nodename=%s state=resume" % NODE)
    installed.wait("IDLE")


def changed(run: Run) -> set[str]:
    return {task.split(" : ")[-1] for _play, task, _host in records.changes(run.events)}


def failures(run: Run) -> str:
    return " ".join(str(event["msg"]) for event in records.failures(run.events))


@pytest.mark.proves("drain", debian12=REAL)
def test_the_drain_waits_for_a_running_job_and_check_mode_foresees_it(slurm: Slurm) -> None:
    number = slurm.job("train")
    predicted = slurm.play("--check")
    assert predicted.status == 0, predicted.output
    assert "job %s of root (train, RUNNING" % number in predicted.output
    assert slurm.node() == ({"ALLOCATED"}, "")
    watcher = threading.Thread(target=slurm.release_when_draining, daemon=True)
    watcher.start()
    done = slurm.play(rdma_slurm_timeout=60)
    watcher.join()
    assert done.status == 0, done.output
    assert "FAILED - RETRYING" in done.output
    assert records.differences(predicted.events, done.events) == []
    assert changed(done) == {"Drain the node in Slurm", "Resume the node in Slurm"}
    assert slurm.do("squeue --noheader") == ""
    # On a busy machine, the controller may briefly see the node as not responding.
    slurm.wait("IDLE")
    assert slurm.node()[1] == ""


@pytest.mark.proves("drain", debian12=REAL)
def test_a_job_that_does_not_end_stops_the_run_and_a_later_one_brings_the_node_back(slurm: Slurm) -> None:
    number = slurm.job("endless")
    stopped = slurm.firmware(rdma_slurm_timeout=2)
    assert stopped.status != 0
    for word in ("job %s of root (endless, RUNNING" % number, NODE, "rdma_slurm_timeout", "after 2 s"):
        assert word in failures(stopped)
    assert slurm.node() == ({"ALLOCATED", "DRAIN"}, OURS)
    slurm.do("scancel %s" % number)
    slurm.wait("IDLE", "DRAIN")
    # A pending reboot is not allowed in this run: the node stays drained.
    assert slurm.firmware(rdma_allow_reboot=False).status == 0
    assert slurm.node() == ({"IDLE", "DRAIN"}, OURS)
    # It is allowed, and check mode predicts that the node returns to service; nothing is drained a second time.
    assert changed(slurm.firmware("--check")) == {"Reboot the node", "Resume the node in Slurm"}
    # The administrator cold-boots the node's cards. Only the return to service is left.
    slurm.lab.shell(NODE, POWERCYCLE)
    back = slurm.firmware()
    assert back.status == 0, back.output
    assert changed(back) == {"Resume the node in Slurm"}
    # On a busy machine, the controller may briefly see the node as not responding.
    slurm.wait("IDLE")
    assert slurm.node()[1] == ""


@pytest.mark.proves("drain", debian12=REAL)
def test_the_undrain_waits_for_slurmd_of_a_node_that_was_rebooted(slurm: Slurm) -> None:
    assert changed(slurm.play(hooks=(DRAIN,))) == {"Drain the node in Slurm"}
    assert changed(slurm.play(hooks=(DRAIN,))) == set()
    slurm.lab.shell(NODE, "systemctl stop slurmd")
    slurm.do("scontrol update nodename=%s state=noresp" % NODE)
    later = threading.Timer(6, slurm.lab.shell, (NODE, "systemctl start slurmd"))
    later.start()
    run = slurm.play(hooks=(UNDRAIN,))
    later.join()
    assert run.status == 0, run.output
    # On a busy machine, the controller may briefly see the node as not responding.
    slurm.wait("IDLE")
    assert slurm.node()[1] == ""
    assert changed(slurm.play(hooks=(UNDRAIN,))) == set()


@pytest.mark.parametrize(("state", "flags"), [("drain", {"IDLE", "DRAIN"}), ("down", {"DOWN"})])
@pytest.mark.proves("drain", debian12=REAL)
def test_a_node_that_somebody_else_took_out_stays_out(slurm: Slurm, state: str, flags: set[str]) -> None:
    slurm.do("scontrol update nodename=%s state=%s reason='disk [2]: replaced on Monday'" % (NODE, state))
    run = slurm.play()
    assert run.status == 0, run.output
    assert changed(run) == set()
    assert any("disk [2]: replaced on Monday" in str(event.get("msg")) for event in run.events)
    assert slurm.node() == (flags, "disk [2]: replaced on Monday")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        pytest.param({"rdma_slurm_node": "nosuch"}, ("nosuch", CONTROLLER, "rdma_slurm_node"), id="node"),
        pytest.param({"rdma_slurm_host": "node3"}, ("scontrol", "node3", "rdma_slurm_host"), id="host"),
        pytest.param(
            {"rdma_drain_tasks": "slrum", "rdma_undrain_tasks": "tasks/undrain.yml"},
            ("rdma_drain_tasks", "slrum", "allowed: slurm, pbs", "rdma_undrain_tasks", "tasks/undrain.yml", "absolute"),
            id="hook and relative path",
        ),
    ],
)
@pytest.mark.proves("drain", debian12=REAL)
def test_what_can_not_work_is_found_before_anything_changes(slurm: Slurm, variables: dict[str, t.Any], words: tuple[str, ...]) -> None:
    run = slurm.firmware(**variables)
    assert run.status != 0
    assert records.changes(run.events) == {}
    for word in words:
        assert word in failures(run)


@pytest.mark.proves("drain", debian12=REAL)
def test_tasks_of_ones_own(slurm: Slurm, tmp_path: pathlib.Path) -> None:
    config = [{"all": True, "parameters": {"NUM_OF_VFS": 5}}]
    slurm.firmware(rdma_allow_reboot=False, hca_firmware_config=config)
    for name in ("drain", "undrain"):
        (tmp_path / ("%s.yml" % name)).write_text("- ansible.builtin.debug:\n    msg: my %s of {{ inventory_hostname }}\n" % name, encoding="utf-8")
    run = slurm.firmware("--check", rdma_drain_tasks=str(tmp_path / "drain.yml"), rdma_undrain_tasks=str(tmp_path / "undrain.yml"))
    assert run.status == 0, run.output
    drained, rebooted, undrained = (run.output.index(word) for word in ("my drain of node2", "Reboot the node", "my undrain of node2"))
    assert drained < rebooted < run.output.index("Check the node]") < undrained
