# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A disk as a PC boots it: a partition table, one ext4 file system, GRUB. No loop device is needed, nor a mount."""

from __future__ import annotations

import os
import pathlib
import struct
import subprocess
import typing as t

from . import _qemu
from ._say import LabError

MEBIBYTES = 8192
"""Of a disk. The file is sparse."""
INSTALL_SECONDS = 300
_SECTOR = 512
_SECTORS_PER_MEBIBYTE = 2048
_INSTALLER = "/usr/lib/rdmalab/install-boot-loader"
_INSTALLED = "rdmalab: the boot loader is installed"


def partition_table(mebibytes: int, identity: bytes) -> bytes:
    """The first sector: one bootable Linux partition, from the first mebibyte on. GRUB has its place before that.

    C(identity) has four bytes, by which GRUB tells disks apart.
    """
    no_cylinders = bytes([0xFE, 0xFF, 0xFF])
    start, length = _SECTORS_PER_MEBIBYTE, (mebibytes - 1) * _SECTORS_PER_MEBIBYTE
    entry = struct.pack("<B3sB3sII", 0x80, no_cylinders, 0x83, no_cylinders, start, length)
    return bytes(440) + identity + bytes(2) + entry + bytes(3 * len(entry)) + bytes([0x55, 0xAA])


def make(root: pathlib.Path, disk: pathlib.Path) -> None:
    """A disk with the files below C(root)."""
    with disk.open("wb") as file:
        file.write(partition_table(MEBIBYTES, os.urandom(4)))
        file.truncate(MEBIBYTES * _SECTORS_PER_MEBIBYTE * _SECTOR)
    offset = "offset=%d" % (_SECTORS_PER_MEBIBYTE * _SECTOR)
    run(["mke2fs", "-q", "-F", "-t", "ext4", "-L", "root", "-E", offset, "-d", str(root), str(disk), "%dM" % (MEBIBYTES - 1)])


def install_boot_loader(disk: pathlib.Path, kernel: pathlib.Path, initrd: pathlib.Path, console: pathlib.Path) -> None:
    """By the disk's own grub-install, in a machine that does nothing else; it is given the kernel from outside."""
    append = "root=/dev/vda1 rw console=ttyS0 quiet init=%s" % _INSTALLER
    argv = [*_qemu.computer("image", _qemu.accelerator()), "-no-reboot", "-serial", "file:%s" % console]
    argv += ["-kernel", str(kernel), "-initrd", str(initrd), "-append", append]
    argv += ["-drive", "file=%s,format=raw,if=none,id=root,cache=unsafe" % disk, "-device", "virtio-blk-pci,drive=root"]
    run(argv, seconds=INSTALL_SECONDS)
    said = console.read_text(errors="replace")
    if _INSTALLED not in said:
        raise LabError("The boot loader could not be installed. The machine said last:\n%s" % said.strip()[-1500:])


def run(argv: t.Sequence[str], stdin: t.IO[bytes] | None = None, seconds: float | None = None) -> None:
    try:
        done = subprocess.run(argv, stdin=stdin or subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as exc:
        raise LabError("'%s' did not end within %g s" % (" ".join(argv[:4]), exc.timeout)) from exc
    if done.returncode:
        raise LabError("'%s' failed: %s" % (" ".join(argv[:4]), done.stderr.decode(errors="replace").strip()[-1000:]))
