# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Processes that have an RDMA device open, and subnet managers."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries

_DEVICES = "/dev/infiniband/"


class Process(t.NamedTuple):
    """One process."""

    pid: int
    comm: str
    """Its name, cut to 15 characters by the kernel."""
    devices: tuple[str, ...] = ()
    """What it has open below /dev/infiniband, without the directory."""


def _devices(root: str, pid: str) -> tuple[str, ...]:
    directory = os.path.join(root, "proc", pid, "fd")
    found = set()
    for descriptor in entries(directory):
        try:
            target = os.readlink(os.path.join(directory, descriptor))
        except OSError:
            continue
        if target.startswith(_DEVICES):
            found.add(target[len(_DEVICES) :])
    return tuple(sorted(found))


def read_processes(root: str = "/") -> tuple[Process, ...]:
    """The processes with an open RDMA device, and every opensm, which counts even before it opens one."""
    found = []
    for name in entries(root, "proc"):
        if not name.isdigit():
            continue
        devices = _devices(root, name)
        comm = attribute(root, "proc", name, "comm")
        if devices or comm == "opensm":
            found.append(Process(int(name), comm, devices))
    return tuple(sorted(found))
