# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Processes: their cgroups, and the RDMA devices that they have open."""

from __future__ import annotations

import os
import re
import typing as t

from .._foreign import decimal
from .._hosts import natural
from ._sysfs import attribute, entries, link_target, process_ids

_HIERARCHY = re.compile(r"^(?:\d+:name=systemd|0:):([^\n]*)$", re.MULTILINE)
_DEVICES = "/dev/infiniband/"
_SOCKET = "socket:["


class Process(t.NamedTuple):
    pid: int
    comm: str
    """Its name, truncated to 15 characters by the kernel."""
    devices: tuple[str, ...] = ()
    """Its open files below /dev/infiniband, without the directory."""


class Scan(t.NamedTuple):
    """What processes have open."""

    processes: tuple[Process, ...]
    """Processes with an RDMA device open, and every opensm, which counts even before it opens one."""
    sockets: t.Mapping[str, Process]
    """The process that has a socket open, by the socket's inode; of several, the one with the lowest PID."""


def _open(root: str, pid: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The RDMA devices and the socket inodes that a process has open."""
    directory = os.path.join(root, "proc", pid, "fd")
    devices, sockets = set(), []
    for descriptor in entries(directory):
        target = link_target(directory, descriptor)
        if target.startswith(_DEVICES):
            devices.add(target[len(_DEVICES) :])
        elif target.startswith(_SOCKET):
            sockets.append(target[len(_SOCKET) : -1])
    return tuple(sorted(devices, key=natural)), tuple(sockets)


def scan_processes(root: str = "/") -> Scan:
    """Scan every process once."""
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


def path_of(cgroup: str, top: str) -> list[str]:
    """The components of a cgroup path below the cgroup of the node itself, which may be a container."""
    match, own = _HIERARCHY.search(cgroup), _HIERARCHY.search(top)
    path = match[1] if match else ""
    base = own[1].rpartition("/init.scope")[0] if own else ""
    return [part for part in (path[len(base) :] if base and path.startswith(base) else path).split("/") if part]
