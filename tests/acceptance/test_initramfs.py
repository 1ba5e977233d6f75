# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An initramfs built by dracut contains what a diskless node needs. tests/acceptance_vm boots one of initramfs-tools."""

from __future__ import annotations

import collections.abc
import json
import typing as t

import pytest
import records
from cluster import Cluster, Run
from common import ROOT
from proofs import REAL

NODE = "node1"
PLAYBOOK = str(ROOT / "tests/acceptance_vm/kernel_modules.yml")
CMDLINE = ["rd.neednet=1", "ip=ib0.8001:dhcp", "ib.pkey=ib0.8001"]
APT = "DEBIAN_FRONTEND=noninteractive apt-get -qq"


def run(lab: Cluster, script: str) -> str:
    done = lab.shell(NODE, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def declare(lab: Cluster, *arguments: str, **variables: t.Any) -> Run:
    done = lab.play(PLAYBOOK, "--limit", NODE, "-e", json.dumps(variables), *arguments)
    assert done.status == 0, done.output
    return done


@pytest.fixture(name="image")
def built_by_dracut(lab: Cluster) -> collections.abc.Iterator[str]:
    release = run(lab, "ls /lib/modules")
    run(lab, "%s update && %s install --yes --no-install-recommends dracut-core dracut-network >/dev/null" % (APT, APT))
    image = "/boot/initrd.img-%s" % release
    run(lab, "dracut --quiet --force %s %s" % (image, release))
    yield image
    run(lab, "rm -f %s && %s purge --yes --autoremove dracut-core dracut-network >/dev/null" % (image, APT))


@pytest.mark.proves("initramfs", debian12=REAL)
def test_dracut_puts_drivers_network_and_arguments_into_the_image(lab: Cluster, image: str) -> None:
    variables = {"kernel_modules_initramfs_drivers": ["ib_ipoib"], "kernel_modules_initramfs_cmdline": CMDLINE}
    assert "/ib_ipoib.ko" not in run(lab, "lsinitrd %s" % image)
    predicted = declare(lab, "--check", **variables)
    made = declare(lab, **variables)
    assert records.changes(made.events)
    assert records.differences(predicted.events, made.events) == []
    assert records.changes(declare(lab, **variables).events) == {}
    listed = run(lab, "lsinitrd %s" % image)
    assert "/ib_ipoib.ko" in listed
    assert "\nnetwork" in listed
    assert run(lab, "lsinitrd -f etc/cmdline.d/01-default.conf %s" % image).split() == CMDLINE
    assert run(lab, "lsinitrd -f etc/cmdline.d/20-force_drivers.conf %s" % image) == "rd.driver.pre=ib_ipoib"
    declare(lab, kernel_modules_state="absent")
    assert "/ib_ipoib.ko" not in run(lab, "lsinitrd %s" % image)
