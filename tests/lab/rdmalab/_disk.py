# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A disk that a PC boots: a partition table, one ext4 file system, GRUB. Needs neither a loop device nor a mount."""

from __future__ import annotations

import os
import pathlib
import struct
import subprocess
import typing as t

from ._say import LabError

MEBIBYTES = 8192
"""Size of a disk. The file is sparse."""
_SECTOR = 512
_SECTORS_PER_MEBIBYTE = 2048
_CODE = 440
"""Bytes of the first sector that hold the boot loader."""
_DRIVE_CHECK = 0x66


def partition_table(mebibytes: int, identity: bytes) -> bytes:
    """Return the first sector: one bootable Linux partition that starts at the first mebibyte. GRUB uses the space before it.

    `identity` is the four-byte disk signature by which GRUB tells disks apart.
    """
    no_cylinders = bytes([0xFE, 0xFF, 0xFF])
    start, length = _SECTORS_PER_MEBIBYTE, (mebibytes - 1) * _SECTORS_PER_MEBIBYTE
    entry = struct.pack("<B3sB3sII", 0x80, no_cylinders, 0x83, no_cylinders, start, length)
    return bytes(440) + identity + bytes(2) + entry + bytes(3 * len(entry)) + bytes([0x55, 0xAA])


def boot_sectors(table: bytes, boot: bytes, core: bytes) -> bytes:
    """Return the content before the partition: GRUB's boot.img with the partition table in it, and core.img where grub-mkimage expects it."""
    start, sectors, _segment = struct.unpack("<QHH", core[_SECTOR - 12 : _SECTOR])
    if (start, sectors) != (2, -(-len(core) // _SECTOR) - 1) or len(core) > (_SECTORS_PER_MEBIBYTE - 1) * _SECTOR:
        raise LabError("The boot loader was not made for the second sector: it looks for %d sectors from %d on." % (sectors, start))
    # Two no-op instructions replace a jump: like grub-install, this trusts the BIOS about the boot drive.
    code = boot[:_DRIVE_CHECK] + b"\x90\x90" + boot[_DRIVE_CHECK + 2 : _CODE]
    return code + table[_CODE:] + core


def make(root: pathlib.Path, disk: pathlib.Path) -> None:
    """Create a disk with the files below `root`. They include GRUB and the UUID of the file system (vm/boot-loader.sh)."""
    grub = root / "boot/grub/i386-pc"
    with disk.open("wb") as file:
        file.write(boot_sectors(partition_table(MEBIBYTES, os.urandom(4)), (grub / "boot.img").read_bytes(), (grub / "core.img").read_bytes()))
        file.truncate(MEBIBYTES * _SECTORS_PER_MEBIBYTE * _SECTOR)
    uuid = (root / "etc/lab/root-uuid").read_text(encoding="utf-8").strip()
    offset = "offset=%d" % (_SECTORS_PER_MEBIBYTE * _SECTOR)
    run(["mke2fs", "-q", "-F", "-t", "ext4", "-L", "root", "-U", uuid, "-E", offset, "-d", str(root), str(disk), "%dM" % (MEBIBYTES - 1)])


def run(argv: t.Sequence[str], stdin: t.IO[bytes] | None = None) -> None:
    done = subprocess.run(argv, stdin=stdin or subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise LabError("'%s' failed: %s" % (" ".join(argv[:4]), done.stderr.decode(errors="replace").strip()[-1000:]))
