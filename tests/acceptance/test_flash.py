# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations that bypass an adapter's firmware and access its flash: verification, and a change of the PSID."""

from __future__ import annotations

import collections.abc
import pathlib
import subprocess
import sys
import typing as t

import pytest
import tasks
from cluster import Cluster, environment
from common import ROOT
from proofs import LOOK_ALIKE
from tasks import Result, Task

NODE, PCI = "node2", "0000:03:00.0"
PSID, OTHER = "MT_0000000008", "MT_0000000099"
IMAGES = {"original": (PSID, "16.35.2000"), "other": (OTHER, "16.35.4000")}
BOARD_ID = "/sys/bus/pci/devices/%s/infiniband/*/board_id" % PCI
FLASH = "/var/lib/rdmalab/adapters/0000:03:00/flash"
# A byte in the middle of the code of the first image in the flash (tests/lab/cxemu/image.py).
CODE = 0x4010
CONSENT = {"allow_another_psid_that_may_destroy_the_adapter": True, "allow_container": True, "allow_downgrade": True}


@pytest.fixture(scope="module")
def flash_lab(lab: Cluster, tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Cluster]:
    """Yield the lab with mstflint and the images on one node. The node's adapter is restored at the end."""
    folder = tmp_path_factory.mktemp("flash")
    assert lab.shell(NODE, "mkdir -p /srv/flash; apt-get update -qq && apt-get install -qq -y mstflint >/dev/null").returncode == 0
    for name, (psid, version) in IMAGES.items():
        path = folder / (name + ".bin")
        argv = [sys.executable, "-m", "cxemu.image", str(path), "--psid", psid, "--firmware", version, "--date", "20221215"]
        subprocess.run(argv, cwd=ROOT / "tests/lab", check=True)
        assert subprocess.run(["docker", "cp", str(path), "%s-%s:/srv/flash/" % (lab.lab[-1], NODE)], check=False, capture_output=True).returncode == 0
    yield lab
    lab.shell(NODE, "cxemu-ctl %s set secured=0" % PCI)
    run(lab, wanted(images="/srv/flash/original.bin", **CONSENT))
    lab.shell(NODE, "cxemu-ctl %s powercycle; apt-get purge -qq -y mstflint >/dev/null; rm -rf /srv/flash" % PCI)


def wanted(check: bool = False, **arguments: t.Any) -> Task:
    """Return the task of the module."""
    return tasks.module("mstflint", check, **arguments)


def run(lab: Cluster, *steps: Task) -> list[Result]:
    """Run tasks on the node and return their results, including failed ones."""
    return tasks.run(lab.inventory, [NODE], steps, environment=environment())[NODE]


QUERY = wanted(state="query")


def adapter(result: dict[str, t.Any]) -> dict[str, t.Any]:
    (found,) = result["adapters"]
    return t.cast(t.Dict[str, t.Any], found)


@pytest.mark.proves("firmware", debian12=LOOK_ALIKE)
def test_a_flipped_bit_in_flash_is_found(flash_lab: Cluster) -> None:
    verify = "mstflint -d %s verify" % PCI
    good = flash_lab.shell(NODE, verify)
    assert good.returncode == 0 and "FW image verification succeeded. Image is bootable." in good.stdout
    flip = 'python3 -c \'f = open("%s", "r+b"); f.seek(%d); b = f.read(1)[0]; f.seek(%d); f.write(bytes([b ^ 1]))\'' % (FLASH, CODE, CODE)
    try:
        assert flash_lab.shell(NODE, flip).returncode == 0
        bad = flash_lab.shell(NODE, verify)
        assert bad.returncode == 1 and "wrong CRC" in bad.stdout and "CAN NOT BOOT" in bad.stdout
    finally:
        flash_lab.shell(NODE, flip)
    assert flash_lab.shell(NODE, verify).returncode == 0


@pytest.mark.proves("firmware", debian12=LOOK_ALIKE)
def test_what_is_read_from_the_flash_is_its_image(flash_lab: Cluster, tmp_path: pathlib.Path) -> None:
    done = flash_lab.shell(NODE, "mstflint -d %s ri /srv/flash/read.bin && mstflint -i /srv/flash/read.bin query full" % PCI)
    assert done.returncode == 0, done.stdout
    guid = adapter(run(flash_lab, QUERY)[0])["base_guid"]
    for words in (PSID, "16.35.2000", guid):
        assert words in done.stdout


@pytest.mark.proves("firmware", debian12=LOOK_ALIKE)
def test_secure_firmware_keeps_its_psid(flash_lab: Cluster) -> None:
    flash_lab.shell(NODE, "cxemu-ctl %s set secured=1" % PCI)
    try:
        (refused,) = run(flash_lab, wanted(images="/srv/flash/other.bin", **CONSENT))
        assert "secure firmware" in refused["msg"] and OTHER in refused["msg"]
        # The tool verifies such a card through its firmware.
        assert flash_lab.shell(NODE, "mstflint -d %s verify" % PCI).returncode == 0
    finally:
        flash_lab.shell(NODE, "cxemu-ctl %s set secured=0" % PCI)


@pytest.mark.proves("firmware", debian12=LOOK_ALIKE)
def test_a_psid_is_changed_once_and_with_consent_only(flash_lab: Cluster) -> None:
    burn = {"images": {PSID: "/srv/flash/other.bin"}, **CONSENT}
    # The firmware reports its running PSID until the reset.
    steps = (QUERY, wanted(images="/srv/flash/other.bin", allow_container=True), wanted(True, **burn), wanted(**burn), wanted(**burn))
    found, refused, predicted, done, again = run(flash_lab, *steps)
    before = adapter(found)
    assert "allow_another_psid_that_may_destroy_the_adapter" in refused["msg"]
    assert done["changed"] and predicted == done
    assert (adapter(done)["psid"], adapter(done)["original_psid"], adapter(done)["base_guid"]) == (OTHER, PSID, before["base_guid"])
    assert flash_lab.shell(NODE, "mstflint -d %s verify" % PCI).returncode == 0
    assert not again["changed"] and again["pending"] == done["pending"] and len(done["pending"]) == 2
    # The node's driver shows the running firmware a moment after the card has booted.
    booted = "cxemu-ctl %s powercycle; for i in $(seq 600); do grep -qx %s %s && exit; sleep 0.2; done; cat %s; exit 1" % (PCI, OTHER, BOARD_ID, BOARD_ID)
    done_booting = flash_lab.shell(NODE, booted)
    assert done_booting.returncode == 0, done_booting.stdout
    settled, shown = run(flash_lab, wanted(**burn), QUERY)
    assert not settled["changed"] and settled["pending"] == []
    assert adapter(shown)["psid"] == OTHER
