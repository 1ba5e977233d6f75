# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Effects of a node that fails, or cannot be reset, on itself and on the others."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import ansible_runs
import pytest
from firmware import CONNECTX5, CONNECTX7, RESTORE, Host, card, configure, module, run

testinfra_hosts = ["ansible://node1"]

TASKS = pathlib.Path(os.environ["MOLECULE_PROJECT_DIRECTORY"]) / "molecule/firmware/tasks"


def play(host: Host, *options: str, playbook: str = "rdma.ofed.firmware", drain: str = "drain.yml", **variables: t.Any) -> tuple[int, str]:
    """Run a playbook with cards reset where possible. Returns exit status and output."""
    hooks = {"rdma_drain_tasks": str(TASKS / drain), "rdma_undrain_tasks": str(TASKS / "undrain.yml")}
    given = json.dumps({"rdma_allow_reset": True, **hooks, **variables})
    argv = ["-i", host.backend.ansible_inventory, playbook, "-e", given, *options]
    environ = {**os.environ, "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.default", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
    done = ansible_runs.run("playbook", argv, folder=pathlib.Path.cwd(), environ=environ, seconds=3600)
    return done.status, done.shown + done.errors


def service(node: Host) -> list[str]:
    """Return what the hooks have recorded since the file was emptied."""
    return t.cast("list[str]", node.file("/srv/service").content_string.split())


@pytest.fixture(autouse=True)
def declared_again(mixed: list[Host], dense: list[Host]) -> t.Iterator[None]:
    """Empty the record of the hooks; at the end, restore the declared settings and put them into effect."""
    for one in (*mixed, *dense):
        one.check_output("echo > /srv/service")
    yield
    manager, other = dense
    run([*mixed, other], RESTORE, module("mlxfwreset", state="reset", allow_container=True))
    ((_restored, reset),) = run([manager], RESTORE, module("mlxfwreset", state="query"))
    assert reset["pending"] == []


@pytest.mark.proves("batches", debian12="look-alike")
def test_a_node_that_fails_is_left_out_and_the_others_of_its_batch_come_back(host: Host, mixed: list[Host], dense: list[Host]) -> None:
    wanted = [{"type": "ConnectX-5", "parameters": {"NUM_OF_VFS": 4}}]
    status, output = play(host, "--limit", "node1,node2,node4", drain="drain_fails.yml", rdma_serial=2, hca_firmware_config=wanted)
    assert status != 0
    # node4 has nothing to do and passes its check: an earlier run may have left it drained.
    assert [service(one) for one in (*mixed, dense[1])] == [["drained", "back"], ["drained"], ["back"]], output
    assert "The jobs on it do not end. It was left out of service (drained)" in output
    assert "NUM_OF_VFS: 16 -> 4 (needs device_reset)" in output
    assert [len(reset["pending"]) for (reset,) in run(mixed, module("mlxfwreset", state="query"))] == [0, 1]


@pytest.mark.proves("batches", debian12="look-alike")
def test_a_reset_that_would_be_refused_is_refused_before_the_node_is_drained(host: Host, dense: list[Host]) -> None:
    manager = dense[0]
    ((done,),) = run([manager], configure(pci=card(manager, CONNECTX7), parameters={"MAX_ACC_OUT_READ": 16}))
    assert done["changed"] is True
    for options in (("--check",), ()):
        status, output = play(host, "--limit", "node3", *options, hca_firmware_config=[])
        assert status != 0
        assert "opensm runs on this node" in output and "rdma_allow_reboot" in output
        assert service(manager) == []


@pytest.mark.proves("batches", debian12="look-alike")
def test_the_node_of_the_subnet_manager_comes_last_and_keeps_no_other_from_its_reset(host: Host, dense: list[Host]) -> None:
    manager, other = dense
    for done in run(dense, configure(pci=card(manager, CONNECTX7), parameters={"MAX_ACC_OUT_READ": 16})):
        assert done[0]["changed"] is True
    status, output = play(host, "--limit", "node3,node4", hca_firmware_config=[])
    assert status != 0
    assert "batch 2 of 2 (subnet manager): node3" in output and "opensm runs on this node" in output, output
    assert [service(manager), service(other)] == [[], ["drained", "back"]], output


@pytest.mark.proves("batches", debian12="look-alike")
def test_what_is_pending_and_not_declared_is_told_and_keeps_the_node_from_coming_back(host: Host) -> None:
    pci = card(host, CONNECTX5)
    ((done,),) = run([host], configure(psid=CONNECTX5, parameters={"NUM_OF_VFS": 2}))
    assert done["changed"] is True
    status, output = play(host, "--limit", "node1", rdma_allow_reset=False, hca_firmware_config=[])
    assert status == 0
    assert "node1  %s NUM_OF_VFS: 16 -> 2 (needs device_reset)" % pci in output
    assert "rdma_undrain_tasks did not run" in output
    assert service(host) == []


@pytest.mark.proves("verify", debian12="look-alike")
def test_verify_compares_firmware_and_its_parameters(host: Host, mixed: list[Host]) -> None:
    status, output = play(host, playbook="rdma.ofed.verify")
    assert status == 0, output
    pci = card(host, CONNECTX5)
    ((done,),) = run([host], configure(psid=CONNECTX5, parameters={"NUM_OF_VFS": 2}))
    assert done["changed"] is True
    changed = {"type": "ConnectX-5", "parameters": {"NUM_OF_VFS": 2}}
    status, output = play(host, "--limit", "node1,node2", playbook="rdma.ofed.verify")
    assert status != 0 and "1 of 2 hosts are not as declared" in output, output
    assert "node1: adapter %s NUM_OF_VFS: wanted 16, found 2 (run rdma.ofed.firmware)" % pci in output, output
    status, output = play(host, "--limit", "node1", playbook="rdma.ofed.verify", hca_firmware_config=[changed])
    assert status != 0 and "NUM_OF_VFS: wanted 2, found 16 (it is burned or set, and becomes effective with the next start" in output, output
    status, output = play(host, "--limit", "node1", playbook="rdma.ofed.verify", hca_firmware_config=[], hca_firmware_versions={CONNECTX5: "16.99.1000"})
    assert status != 0 and "found not possible (adapter %s (%s) is 'without an image of version 16.99.1000'" % (pci, CONNECTX5) in output, output
