# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Block devices that are somewhere else: RBD of Ceph, DRBD, NBD."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._mounts import server_address
from ansible_collections.rdma.ofed.plugins.module_utils._facts._storage import Session
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries

UNKNOWN = "%s, whose peer is unknown"
_MINOR = re.compile(r"(?:\bminor\s+|/dev/drbd)([0-9]{1,7})\b")
_ADDRESS = re.compile(r"\baddress\s+(?:[a-z0-9]+\s+)?(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]+")
_CONNECTED = re.compile(r"^[^\S\n]*([0-9]{1,7}): cs:(\w+)", re.MULTILINE)
_DRBD9 = re.compile(r"^version:\s*(?:[1-9][0-9]|9)\.")
# Without a connection: `drbd_conn_str` in drivers/block/drbd/drbd_strings.c, and what drbd_seq_show prints for a device that is not set up.
_ALONE = ("Unconfigured", "StandAlone")
_DRBD_CONFIGURATION = ("etc/drbd.d", "var/lib/linstor.d")


def parse_drbd(text: str) -> tuple[str, ...]:
    """/proc/drbd of DRBD 8 (` 0: cs:Connected ro:Primary/Secondary ...`): the numbers of the devices that have or want a peer."""
    return tuple(minor for minor, state in _CONNECTED.findall(text) if state not in _ALONE)


def parse_drbd_configuration(text: str) -> dict[str, tuple[str, ...]]:
    """The addresses of each device, by its number, of all resources."""
    found: dict[str, tuple[str, ...]] = {}
    for resource in re.split(r"(?m)^[^\S\n]*resource\s", text)[1:]:
        addresses = tuple(dict.fromkeys(address.strip("[]") for address in _ADDRESS.findall(resource)))
        for minor in _MINOR.findall(resource):
            found[minor] = tuple(dict.fromkeys((*found.get(minor, ()), *addresses)))
    return found


def _rbd(root: str) -> list[Session]:
    # The node's own address, `10.1.0.1:0/3487526345` (rbd_client_addr_show in drivers/block/rbd.c).
    base = os.path.join(root, "sys/bus/rbd/devices")
    found = [(name, server_address(attribute(base, name, "client_addr").partition("/")[0], {})) for name in entries(base)]
    return [Session("rbd" + name, "RBD" if address else UNKNOWN % "RBD", address) for name, address in found]


def _drbd(root: str) -> list[Session]:
    status = attribute(root, "proc/drbd")
    if not status:
        return []
    # DRBD 9 shows no devices there, and makes each only when it is set up.
    there = [name[len("drbd") :] for name in entries(root, "sys/class/block") if re.match(r"drbd[0-9]+\Z", name)]
    minors = there if _DRBD9.match(status) else parse_drbd(status)
    paths = [("etc/drbd.conf",), *((folder, name) for folder in _DRBD_CONFIGURATION for name in entries(root, folder) if name.endswith(".res"))]
    addresses = parse_drbd_configuration("\n".join(attribute(root, *path) for path in paths))
    found = []
    for minor in minors:
        found += [Session("drbd" + minor, "DRBD", address) for address in addresses.get(minor, ())] or [Session("drbd" + minor, UNKNOWN % "DRBD")]
    return found


def _nbd(root: str, hosts: t.Mapping[str, str]) -> list[Session]:
    found = []
    for name in entries(root, "sys/class/block"):
        # The process that connected the device; the file is there as long as it is connected (pid_show in drivers/block/nbd.c).
        pid = attribute(root, "sys/class/block", name, "pid") if re.match(r"nbd[0-9]+\Z", name) else ""
        if not pid:
            continue
        words = attribute(root, "proc", pid, "cmdline").split("\0")
        address = next((server_address(word, hosts) for word in words[1:] if server_address(word, hosts)), "")
        local = "qemu-nbd" in words[0] or any(word in ("-u", "-unix") for word in words)
        if not local:
            found.append(Session(name, "NBD" if address else UNKNOWN % "NBD", address))
    return found


def read_network_disks(root: str, hosts: t.Mapping[str, str]) -> tuple[Session, ...]:
    """The devices that are connected. One with several addresses is there once for each."""
    return (*_rbd(root), *_drbd(root), *_nbd(root, hosts))
