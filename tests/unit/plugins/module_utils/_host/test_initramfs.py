# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._initramfs import BUILDERS, Image, builder_of, holds, images_with, installed_images, rebuild
from support.runners import Says

# Output of lsinitramfs of initramfs-tools 0.142 and lsinitrd of dracut 059.
LSINITRAMFS = """\
usr/lib/modules/6.1.0-56-amd64/kernel/drivers/infiniband/ulp/ipoib
usr/lib/modules/6.1.0-56-amd64/kernel/drivers/infiniband/ulp/ipoib/ib_ipoib.ko
"""
LSINITRD = """\
Arguments:  -q --no-hostonly --force-drivers 'ib_ipoib' --kver '6.1.0-56-amd64'
drwxr-xr-x   2 root     root            0 Nov 21 04:13 usr/lib/modules/6.1.0-56-amd64/kernel/drivers/infiniband/ulp/ipoib
-rw-r--r--   1 root     root       326569 Nov 16 10:17 usr/lib/modules/6.1.0-56-amd64/kernel/drivers/infiniband/ulp/ipoib/ib-ipoib.ko.xz
"""


@pytest.mark.parametrize("listing", [LSINITRAMFS, LSINITRD])
def test_modules_are_found_in_listings(listing: str) -> None:
    assert holds(listing, {"ib_ipoib", "ib_umad"})
    assert not holds(listing, {"ib_umad"})
    assert not holds(listing, {"ipoib"}), "a directory is no module"
    assert not holds(listing, set())


def test_builders() -> None:
    assert builder_of(Says(0, tools=[])) is None
    assert builder_of(Says(0, tools=["dracut", "update-initramfs"])) == BUILDERS[0]
    run = Says(0, tools=["dracut"])
    builder = builder_of(run)
    assert builder is not None
    rebuild(run, builder, Image("5.14", "/boot/initramfs-5.14.img"))
    assert run.calls == [["dracut", "--force", "/boot/initramfs-5.14.img", "5.14"]]


def test_only_images_with_the_module_are_taken_and_all_where_nothing_can_be_listed() -> None:
    images = (Image("6.1", "/boot/initrd.img-6.1"),)
    run = Says(0, LSINITRAMFS, tools=["update-initramfs", "lsinitramfs"])
    assert images_with(run, BUILDERS[0], images=images, modules={"ib_ipoib"}) == images
    assert images_with(run, BUILDERS[0], images=images, modules={"ib_umad"}) == ()
    assert run.calls[0] == ["lsinitramfs", "/boot/initrd.img-6.1"]
    assert images_with(Says(0, tools=["update-initramfs"]), BUILDERS[0], images=images, modules={"ib_umad"}) == images


@pytest.mark.parametrize("path", ["boot/initrd.img-6.1", "boot/initramfs-6.1.img", "boot/initrd-6.1", "boot/0123abcd/6.1/initrd", "efi/0123abcd/6.1/initrd"])
def test_images_of_every_distribution(tmp_path: pathlib.Path, path: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/machine-id").write_text("0123abcd\n", encoding="utf-8")
    image = tmp_path / path
    image.parent.mkdir(parents=True)
    image.touch()
    assert installed_images(["6.1", "6.2"], str(tmp_path)) == (Image("6.1", "/" + path),)
