# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUDirect RDMA on a real kernel: from no GPU through each refusal to a module that survives driver reloads and boots.

The GPU, its driver and the peer memory of the stack are stand-ins (tests/lab/gpu); dkms, the compiler, depmod, modprobe with its messages, symbol versions and
systemd are real. The tests depend on each other.
"""

from __future__ import annotations

import pathlib
import time
import typing as t

import pytest
import records
from common import ROOT
from driver_node import NODE, Node
from proofs import LOOK_ALIKE

HERE = pathlib.Path(__file__).resolve().parent
STANDINS = ROOT / "tests/lab/gpu"
UNIT = "rdma-ofed-gpudirect.service"
LOADED = "module nvidia_peermem: not loaded -> loaded"
REPLACED = "driver: as loaded -> as installed"
BECAUSE = ["an option was changed"]


def bring(node: Node, folder: str, place: str) -> None:
    """Install the sources of a stand-in."""
    node.run("mkdir -p " + place)
    for path in sorted((STANDINS / folder).iterdir()):
        node.run("cat >%s/%s <<'EOF'\n%s\nEOF" % (place, path.name, path.read_text(encoding="utf-8").rstrip("\n")))


def loaded(node: Node, name: str = "nvidia_peermem") -> bool:
    return node.cluster.shell(NODE, "test -d /sys/module/" + name).returncode == 0


def wait_until_loaded(node: Node) -> None:
    end = time.monotonic() + 120
    while not loaded(node):
        assert time.monotonic() < end, node.run("systemctl status %s; journalctl -b -u %s -u openibd; true" % (UNIT, UNIT))
        time.sleep(2)


def role(node: Node, *arguments: str, **variables: t.Any) -> t.Any:
    return node.play(str(HERE / "gpudirect.yml"), *arguments, **{"gpudirect_method": "auto", **variables})


def as_predicted(node: Node, **variables: t.Any) -> list[t.Any]:
    """Run check mode, the run that does the same, and one that changes nothing. Returns the changes of the run."""
    check, done = role(node, "--check", **variables), role(node, **variables)
    assert done.status == 0, done.output
    assert records.differences(check.events, done.events) == []
    again = role(node, **variables)
    assert again.status == 0, again.output
    assert records.changes(again.events) == {}
    return [change for changes in records.changes(done.events).values() for change in changes]


@pytest.fixture(scope="module")
def node(driver: Node) -> Node:
    return driver


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_a_node_without_gpu_is_left_alone(node: Node) -> None:
    done = role(node)
    assert done.status == 0, done.output
    assert "There is no NVIDIA GPU in this node" in done.output
    assert "rdma.ofed.gpudirect" not in str(records.executions(done.events))
    result = node.module("gpudirect", method="nvidia_peermem")
    assert (result["changed"], result["method"]) == (False, "")


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_a_gpu_without_its_driver(node: Node) -> None:
    bring(node, "card", "/root/card")
    node.run("make -s -C /lib/modules/$(uname -r)/build M=/root/card modules")
    node.run("install -D /root/card/gpu_standin.ko /lib/modules/$(uname -r)/updates/gpu_standin.ko && depmod")
    node.run("echo gpu_standin >/etc/modules-load.d/gpu.conf && modprobe gpu_standin")
    facts = node.module("rdma_facts", gather=["gpu"])["ansible_facts"]["rdma"]["gpu"]
    assert [device["pci"] for device in facts["devices"]] == ["10de:00:00.0"]
    result = node.module("gpudirect")
    assert result["failed"]
    assert "NVIDIA's driver is not installed" in result["msg"]


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_inbox_is_dmabuf_with_the_open_modules_and_nothing_with_the_others(node: Node) -> None:
    bring(node, "nvidia", "/usr/src/nvidia-535.104.05")
    node.run("dkms install nvidia/535.104.05 && modprobe nvidia")
    result = node.module("gpudirect")
    assert (result["method"], result["changed"]) == ("dmabuf", False), result
    refused = node.module("gpudirect", method="nvidia_peermem")
    assert "the inbox stack has no peer memory" in refused["msg"]
    assert "has nvidia_peermem instead" in node.module("gpudirect", method="nv_peer_mem")["msg"]
    # The message that modprobe would have printed.
    assert "Invalid argument" in node.cluster.shell(NODE, "modprobe nvidia-peermem 2>&1; true").stdout
    node.run("rmmod nvidia && modprobe nvidia flavour=proprietary")
    assert "proprietary kernel modules" in node.module("gpudirect", method="dmabuf")["msg"]
    node.run("rmmod nvidia && modprobe nvidia")


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_a_driver_from_before_the_stack_is_built_anew(node: Node) -> None:
    done = node.play("site", "--skip-tags", "opensm", ofed_reload="never")
    assert done.status == 0, done.output
    bring(node, "peer_memory", "/usr/src/ofed-peer-memory-1")
    node.run("dkms install ofed-peer-memory/1 && echo 'softdep ib_core post: ib_peer_mem' >/etc/modprobe.d/ib_peer_mem.conf")
    refused = node.module("gpudirect", method="nvidia_peermem")
    assert "built before the stack" in refused["msg"]
    assert "gpudirect_allow_rebuild" in refused["msg"]
    assert node.module("gpudirect")["method"] == "dmabuf"
    changes = as_predicted(node, gpudirect_allow_rebuild=True)
    assert "not built on the stack -> built on it" in str(changes)
    # The loaded ib_core is the distribution's.
    assert LOADED not in str(changes)
    assert not loaded(node)
    (entry,) = node.module("gpudirect")["pending"]
    assert (entry["kind"], entry["subject"], entry["needs"]) == ("module", "nvidia_peermem", "driver_reload")


@pytest.mark.proves("gpudirect", "reload", debian12=LOOK_ALIKE)
def test_the_reload_of_the_driver_loads_it(node: Node) -> None:
    result = node.module("driver_reload", allow_reload=True)
    assert not result["failed"], result
    assert result["changes"] == [REPLACED]
    wait_until_loaded(node)
    assert node.run("cat /sys/kernel/mm/memory_peers/nv_mem/version") == "535.104.05"
    again = role(node)
    assert again.status == 0, again.output
    result = node.module("gpudirect")
    assert (result["changed"], result["pending"], result["loaded"]) == (False, [], ["nvidia_peermem"]), result


@pytest.mark.proves("gpudirect", "reload", debian12=LOOK_ALIKE)
def test_it_goes_before_a_reload_and_comes_back_after_it(node: Node) -> None:
    result = node.module("driver_reload", allow_reload=True, because=BECAUSE)
    assert not result["failed"], result
    assert result["changes"] == [REPLACED]
    assert loaded(node)
    assert loaded(node, "nvidia")
    assert node.reachable(60)


@pytest.mark.proves("gpudirect", "reload", debian12=LOOK_ALIKE)
def test_it_stays_while_a_process_uses_it(node: Node) -> None:
    node.run("echo 2 >/sys/module/nvidia_peermem/parameters/standin_users")
    try:
        result = node.module("driver_reload", allow_reload=True, because=BECAUSE)
        assert not result["changed"]
        assert [(user["kind"], user["name"]) for user in result["users"]] == [("module", "nvidia_peermem")]
    finally:
        node.run("echo 0 >/sys/module/nvidia_peermem/parameters/standin_users")
    assert loaded(node)


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_the_unit_follows_openibd(node: Node) -> None:
    """openibd itself cannot unload everything here: its list lacks the driver of the lab's adapters."""
    node.run("systemctl start openibd; systemctl stop openibd; true")
    assert not loaded(node)
    node.run("modprobe -a ib_core ib_umad ib_uverbs ib_ipoib; systemctl reset-failed openibd; systemctl start openibd")
    wait_until_loaded(node)
    assert node.reachable(60)


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_it_outlives_a_reboot(node: Node) -> None:
    node.cluster.command("restart", NODE)
    wait_until_loaded(node)
    assert node.run("systemctl is-failed systemd-modules-load.service; true") != "failed"
    again = role(node)
    assert again.status == 0, again.output
    assert records.changes(again.events) == {}


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_a_build_that_was_broken_off_is_resumed(node: Node) -> None:
    node.run("dkms remove nvidia/535.104.05 -k $(uname -r)")
    assert loaded(node, "nvidia")
    for method in ("auto", "dmabuf"):
        refused = node.module("gpudirect", method=method)
        assert refused["failed"], refused
        assert "missing after the next boot" in refused["msg"]
    assert "dkms install nvidia/535.104.05" in refused["msg"]
    changes = as_predicted(node, gpudirect_allow_rebuild=True)
    assert "not installed -> built on the stack" in str(changes)
    assert node.run("dkms status nvidia/535.104.05 -k $(uname -r)").endswith("installed")
    assert node.run("ls -A /var/lib/rdma.ofed | grep gpu_driver; true") == ""


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_the_parameter(node: Node) -> None:
    changes = as_predicted(node, gpudirect_peerdirect_support=1)
    assert "peerdirect_support: 0 -> 1" in str(changes)
    assert node.run("cat /sys/module/nvidia_peermem/parameters/peerdirect_support") == "1"
    node.run("rm /etc/modprobe.d/rdma-ofed-gpudirect.conf")


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_another_build_of_the_stack_is_told_from_none(node: Node) -> None:
    """The kernel compares symbol versions."""
    node.run("rmmod nvidia_peermem; rmmod ib_peer_mem; echo peer-memory=other >>/etc/ofed-standin")
    node.run("dkms remove ofed-peer-memory/1 -k $(uname -r); dkms install ofed-peer-memory/1 && modprobe ib_peer_mem")
    said = node.cluster.shell(NODE, "dmesg -C; modprobe nvidia-peermem 2>&1; dmesg").stdout
    assert "Invalid argument" in said and "disagrees about version of symbol ib_register_peer_memory_client" in said
    result = node.module("gpudirect", method="nvidia_peermem")
    assert result["failed"]
    assert "another build of the stack" in result["msg"], result
    assert "gpudirect_allow_rebuild" in result["msg"]
    node.run("sed -i /peer-memory=other/d /etc/ofed-standin; rmmod ib_peer_mem; dkms remove ofed-peer-memory/1 -k $(uname -r); dkms install ofed-peer-memory/1")
    node.run("modprobe ib_peer_mem")
    assert not node.module("gpudirect")["failed"]


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_a_kernel_that_the_stack_was_not_built_for(node: Node) -> None:
    node.run("rmmod nvidia_peermem; rmmod ib_peer_mem && dkms remove ofed-peer-memory/1 -k $(uname -r)")
    said = node.cluster.shell(NODE, "dmesg -C; modprobe nvidia-peermem 2>&1; dmesg").stdout
    assert "Unknown symbol ib_register_peer_memory_client" in said, said
    result = node.module("gpudirect", method="nvidia_peermem")
    assert result["failed"]
    assert "has no modules on disk for kernel" in result["msg"], result
    assert "ofed_kernel_policy" in result["msg"]
    node.run("dkms install ofed-peer-memory/1 && modprobe ib_peer_mem")
    assert not node.module("gpudirect")["failed"]


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_a_gpu_that_is_gone(node: Node) -> None:
    node.run("rmmod nvidia_peermem nvidia gpu_standin")
    said = node.cluster.shell(NODE, "modprobe nvidia 2>&1; true").stdout
    assert "No such device" in said
    assert node.module("gpudirect")["reasons"] == ["there is no NVIDIA GPU in this node, so nothing is done about GPUDirect RDMA"]
    node.run("modprobe gpu_standin && modprobe nvidia")


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_absent_leaves_nothing(node: Node) -> None:
    done = role(node)
    assert done.status == 0, done.output
    as_predicted(node, gpudirect_state="absent")
    assert not loaded(node)
    assert loaded(node, "nvidia"), "the GPU's driver stays"
    assert node.run("find /etc -name '*rdma-ofed-gpudirect*'") == ""


@pytest.mark.proves("gpudirect", debian12=LOOK_ALIKE)
def test_secure_boot_is_told_from_the_others(node: Node) -> None:
    """This test comes last: from here on the kernel requires signatures, and DKMS's key is not enrolled."""
    node.run("echo Y >/sys/module/module/parameters/sig_enforce")
    result = node.module("gpudirect", method="nvidia_peermem")
    assert result["failed"]
    assert "Secure Boot refuses it" in result["msg"], result
    assert "mokutil --import" in result["msg"]
    # A module that cannot be loaded now is not configured for the next boot either.
    assert node.run("find /etc -name '*rdma-ofed-gpudirect*'") == ""
