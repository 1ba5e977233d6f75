# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Block storage over RDMA: NVMe over Fabrics, iSER, SRP."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries

_NVME = re.compile(r"^nvme(\d+)(?:c\d+)?n\d+")
_HOST = re.compile(r"^host\d+$")
_TRADDR = re.compile(r"(?:^|,)traddr=([^,]+)")
_SCSI = {"iscsi_iser": "iSER", "ib_srp": "SRP"}


class Session(t.NamedTuple):
    """One connection to a storage target, or one exported to others."""

    name: str
    """`nvme1`, `host5`, `nvmet port 1`, `rbd0`."""
    protocol: str
    """`NVMe over RDMA`, `iSER`, `SRP`, `RBD`."""
    address: str = ""
    """The target's, or where only that is known the node's own for it."""


def nvme_address(text: str) -> str:
    """The target's address in `traddr=10.1.0.9,trsvcid=4420`; "" where there is none."""
    match = _TRADDR.search(text)
    return match.group(1) if match else ""


def read_sessions(root: str = "/") -> tuple[Session, ...]:
    """All storage sessions over RDMA, and those of IP transports, whose address decides whether they run over an RDMA adapter."""
    sessions = []
    for name in entries(root, "sys/class/nvme"):
        transport = attribute(root, "sys/class/nvme", name, "transport")
        if transport in ("rdma", "tcp"):
            address = nvme_address(attribute(root, "sys/class/nvme", name, "address"))
            sessions.append(Session(name, "NVMe over %s" % transport.upper(), address))
    for name in entries(root, "sys/class/scsi_host"):
        protocol = _SCSI.get(attribute(root, "sys/class/scsi_host", name, "proc_name"))
        if protocol:
            sessions.append(Session(name, protocol))
    for name in entries(root, "sys/class/iscsi_connection"):
        address = attribute(root, "sys/class/iscsi_connection", name, "persistent_address")
        sessions.append(Session(name, "iSCSI", address))
    ports = "sys/kernel/config/nvmet/ports"
    for name in entries(root, ports):
        if attribute(root, ports, name, "addr_trtype") == "rdma" and entries(root, ports, name, "subsystems"):
            sessions.append(Session("nvmet port " + name, "NVMe over RDMA", attribute(root, ports, name, "addr_traddr")))
    return tuple(sessions)


def _scsi_host(path: str) -> str:
    return next((part for part in path.split("/") if _HOST.match(part)), "")


def block_session(device: str, sessions: t.Sequence[Session], root: str = "/") -> Session | None:
    """The session that a block device (`/dev/nvme1n1p2`, `/dev/mapper/root`) stands on, through partitions, RAID and LVM."""
    by_name = {session.name: session for session in sessions}
    base = os.path.join(root, "sys/class/block")
    path = os.path.join(root, device.lstrip("/"))
    todo = [os.path.basename(os.path.realpath(path) if os.path.exists(path) else path)]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        real = os.path.realpath(os.path.join(base, name))
        nvme = _NVME.match(name)
        holders = [name, _scsi_host(real)]
        if nvme:
            # With multipath the number is the subsystem's, and its controllers stand beside the namespace.
            holders += ["nvme" + nvme.group(1), *entries(root, "sys/class/nvme-subsystem", "nvme-subsys" + nvme.group(1))]
        for holder in holders:
            if holder in by_name:
                return by_name[holder]
        todo += entries(base, name, "slaves")
        if os.path.exists(os.path.join(base, name, "partition")):
            todo.append(os.path.basename(os.path.dirname(real)))
    return None
