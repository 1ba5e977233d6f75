# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attribute files of sysfs and procfs, which may disappear or fail between two reads.

Reading `carrier` of an interface that is down returns EINVAL, and a device that is being removed returns ENODEV. Facts describe
what exists, so every such file reads as empty.
"""

from __future__ import annotations

import os
import re

from .._foreign import decimal
from .._hosts import natural

PCI_ADDRESS = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")


def content(*parts: str) -> bytes:
    """The bytes of a file; empty where it can't be read."""
    try:
        with open(os.path.join(*parts), "rb") as stream:
            return stream.read()
    except OSError:
        return b""


def attribute(*parts: str) -> str:
    """The content of one attribute without surrounding blanks; "" where it can't be read."""
    return content(*parts).decode("utf-8", "replace").strip()


def entries(*parts: str) -> list[str]:
    """The names in a directory, sorted; none where it can't be read."""
    try:
        return sorted(os.listdir(os.path.join(*parts)))
    except OSError:
        return []


def rdma_devices(root: str) -> list[str]:
    """The RDMA devices in numeric order: `mlx5_2` before `mlx5_10`. ib_ipoib creates its interfaces in that order."""
    return sorted(entries(root, "sys/class/infiniband"), key=natural)


def process_ids(root: str) -> list[str]:
    """The names of the process directories, lowest PID first."""
    return sorted((name for name in entries(root, "proc") if decimal(name) is not None), key=lambda name: decimal(name, 0))


def link_target(*parts: str) -> str:
    """The target of a symbolic link, as written in it; "" where there is no link."""
    try:
        return os.readlink(os.path.join(*parts))
    except OSError:
        return ""


def link_name(*parts: str) -> str:
    """The last component of a symbolic link's target: `driver` -> `mlx5_core`. "" where there is no link."""
    return os.path.basename(link_target(*parts))


def real_path(*parts: str) -> str:
    """The path with all links resolved; "" where it does not exist."""
    path = os.path.join(*parts)
    return os.path.realpath(path) if os.path.exists(path) else ""


def guid(text: str) -> str:
    """Normalise `0c42:a103:0000:0011`, `0c:42:a1:...` or bare digits to `0x0c42a10300000011`; "" for anything else and for zero."""
    digits = text.strip().lower().replace(":", "")
    digits = digits[2:] if digits.startswith("0x") else digits
    if not re.match(r"^[0-9a-f]{16}$", digits) or not digits.strip("0"):
        return ""
    return "0x" + digits


def pci_address(*parts: str) -> str:
    """The PCI function behind a `device` link, also for a subfunction (an auxiliary device below its function); "" for none."""
    return next((name for name in reversed(real_path(*parts).split("/")) if PCI_ADDRESS.match(name)), "")
