# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node boots from its own disk: options, modules, the initramfs, and the kernel that GRUB chooses."""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

import pytest
from cluster import Cluster, Run
from proofs import REAL

NODE = "node1"
PLAYBOOK = str(pathlib.Path(__file__).parent / "kernel_modules.yml")
LOADED_EARLY = "/run/initramfs/modules"
"""Content of /proc/modules when the initramfs handed over to the system (tests/lab/vm)."""
DRIVERS = ["ibdummy", "ib_ipoib"]
LOAD = ["ib_umad", "ib_uverbs", "rdma_ucm", "ib_ipoib", "ib_isert"]


def run(lab: Cluster, script: str) -> str:
    done = lab.shell(NODE, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def declare(lab: Cluster, **variables: t.Any) -> Run:
    done = lab.play(PLAYBOOK, "-e", json.dumps({"kernel_modules_load": LOAD, **variables}))
    assert done.status == 0, done.output
    return done


def queue_size(lab: Cluster) -> str:
    return run(lab, "cat /sys/module/ib_ipoib/parameters/send_queue_size")


def modules(lab: Cluster, path: str) -> set[str]:
    return {line.split()[0] for line in run(lab, "cat %s" % path).splitlines()}


def test_grub_boots_the_kernel_of_the_disk(lab: Cluster) -> None:
    words = run(lab, "cat /proc/cmdline").split()
    assert "BOOT_IMAGE=/boot/vmlinuz-%s" % run(lab, "uname -r") in words
    assert "root=UUID=%s" % run(lab, "findmnt -n -o UUID /") in words


@pytest.mark.proves("modules", debian12=REAL)
def test_options_and_modules_are_there_after_a_reboot(lab: Cluster) -> None:
    assert not modules(lab, LOADED_EARLY) & set(DRIVERS)
    declare(lab, kernel_modules_options={"ib_ipoib": {"send_queue_size": 256}})
    lab.command("restart", NODE)
    assert queue_size(lab) == "256"
    assert modules(lab, "/proc/modules") >= set(LOAD)
    assert not modules(lab, LOADED_EARLY) & set(DRIVERS)


@pytest.mark.proves("initramfs", debian12=REAL)
def test_drivers_in_the_initramfs_are_loaded_before_the_root_is_mounted(lab: Cluster) -> None:
    declare(lab, kernel_modules_options={"ib_ipoib": {"send_queue_size": 256}}, kernel_modules_initramfs_drivers=DRIVERS)
    lab.command("restart", NODE)
    assert modules(lab, LOADED_EARLY) >= set(DRIVERS)
    # Messages of the kernel itself, in their order.
    log = run(lab, "journalctl --quiet -k -b -o cat")
    assert 0 <= log.find("ibdummy: loading out-of-tree module") < log.find("EXT4-fs (vda1): mounted filesystem"), log
    assert queue_size(lab) == "256"
    assert len(run(lab, "ls /sys/class/net").split()) == 6


@pytest.mark.proves("initramfs", debian12=REAL)
def test_an_option_gets_into_the_initramfs_that_is_booted(lab: Cluster) -> None:
    variables: dict[str, t.Any] = {"kernel_modules_options": {"ib_ipoib": {"send_queue_size": 1024}}, "kernel_modules_initramfs_drivers": DRIVERS}
    declare(lab, **variables)
    assert "changed=0" in declare(lab, **variables).output
    lab.command("restart", NODE)
    assert "ib_ipoib" in modules(lab, LOADED_EARLY)
    assert queue_size(lab) == "1024"


@pytest.mark.proves("initramfs", debian12=REAL)
def test_another_kernel_boots_when_grub_says_so(lab: Cluster) -> None:
    running = run(lab, "uname -r")
    series = re.escape(running.rsplit("-", 2)[0])
    known = run(lab, "apt-cache pkgnames linux-image-")
    found = re.findall(r"^linux-image-(%s-[0-9]+-amd64)$" % series, known, re.MULTILINE)
    other = max((release for release in found if release != running), key=lambda release: int(release.split("-")[1]))
    lab.command("driver", NODE, other)
    # By default GRUB starts the newest kernel; this one is older. The kernel's package regenerates the menu.
    root = run(lab, "findmnt -n -o UUID /")
    entry = "gnulinux-advanced-%s>gnulinux-%s-advanced-%s" % (root, other, root)
    run(lab, "echo \"GRUB_DEFAULT='%s'\" >/etc/default/grub.d/test.cfg" % entry)
    lab.command("shell", NODE, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", "--no-install-recommends", "linux-image-" + other)
    early = modules(lab, LOADED_EARLY) & set(DRIVERS)
    lab.command("restart", NODE)
    assert run(lab, "uname -r") == other
    assert run(lab, "modinfo -n ibdummy").startswith("/lib/modules/%s/" % other)
    assert len(run(lab, "ls /sys/class/infiniband").split()) == 2
    # The initramfs of the new kernel also contains what the node wants in one.
    assert modules(lab, LOADED_EARLY) >= early
