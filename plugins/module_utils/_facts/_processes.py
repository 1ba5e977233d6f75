# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Processes that have an RDMA device open, and subnet managers."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries, process_ids
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal

_DEVICES = "/dev/infiniband/"
_SOCKET = "socket:["


class Process(t.NamedTuple):
    """One process."""

    pid: int
    comm: str
    """Its name, cut to 15 characters by the kernel."""
    devices: tuple[str, ...] = ()
    """What it has open below /dev/infiniband, without the directory."""


class Scan(t.NamedTuple):
    """What processes have open."""

    processes: tuple[Process, ...]
    """Those with an RDMA device, and every opensm, which counts even before it opens one."""
    sockets: t.Mapping[str, Process]
    """The process that has a socket open, by the socket's inode; of several the one with the lowest number."""


def _open(root: str, pid: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The RDMA devices and the inodes of the sockets that a process has open."""
    directory = os.path.join(root, "proc", pid, "fd")
    devices, sockets = set(), []
    for descriptor in entries(directory):
        try:
            target = os.readlink(os.path.join(directory, descriptor))
        except OSError:
            continue
        if target.startswith(_DEVICES):
            devices.add(target[len(_DEVICES) :])
        elif target.startswith(_SOCKET):
            sockets.append(target[len(_SOCKET) : -1])
    return tuple(sorted(devices)), tuple(sockets)


def scan_processes(root: str = "/") -> Scan:
    """Every process is looked at once."""
    found: list[Process] = []
    holders: dict[str, Process] = {}
    for name in process_ids(root):
        devices, sockets = _open(root, name)
        process = Process(decimal(name, 0), attribute(root, "proc", name, "comm"), devices)
        if devices or process.comm == "opensm":
            found.append(process)
        for inode in sockets:
            holders.setdefault(inode, process)
    return Scan(tuple(found), holders)


def read_processes(root: str = "/") -> tuple[Process, ...]:
    """The processes with an open RDMA device, and every opensm."""
    return scan_processes(root).processes
