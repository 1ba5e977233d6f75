# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What the user wants of the IPoIB interfaces of a node: value types and the one reading of each notation."""

from __future__ import annotations

import ipaddress
import re
import typing as t

MODES = ("auto", "datagram", "connected")
STATES = ("present", "absent")
KEYS = ("addresses", "mode", "mtu", "name", "parent", "pkey", "state")

# Linux: IPOIB_UD_MTU of a 4096 byte InfiniBand MTU, and IPOIB_CM_MTU. 68 is the least that IPv4 works with, 1280 IPv6.
MTU_MIN = 68
MTU_MIN_IPV6 = 1280
MTU_MAX = {"datagram": 4092, "connected": 65520}

# What ib_ipoib gives a new interface: the mode, and the MTU of a 2048 byte broadcast group.
KERNEL_MODE = "datagram"
KERNEL_MTU = 2044

# The default partition, in which every port is, as a full member.
DEFAULT_PKEY = 0xFFFF

# Datagram MTUs that a broadcast group can impose: the InfiniBand MTU less the 4 bytes of the IPoIB header.
GROUP_MTUS = (252, 508, 1020, 2044, 4092)

# IFNAMSIZ less the terminating zero, and how much of the parent's name the kernel keeps in a child's.
NAME_MAX = 15
PARENT_KEPT = 10


class Wanted(t.NamedTuple):
    """One declared interface. Addresses are C(ADDRESS/PREFIX) in Python's canonical spelling; C(mtu) is 0 where the user left it open."""

    name: str
    addresses: tuple[str, ...] = ()
    mode: str = "auto"
    mtu: int = 0
    parent: str = ""
    pkey: int = 0
    present: bool = True

    @property
    def is_child(self) -> bool:
        return bool(self.parent)


def parse_pkey(value: t.Any) -> int | None:
    """A P_Key given as an integer or as hexadecimal text (C(0x8001), C(8001)); None where it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and re.match(r"^(0[xX])?[0-9a-fA-F]{1,4}\Z", value):
        return int(value, 16)
    return None


def parse_mtu(value: t.Any) -> int | None:
    """An MTU given as an integer, or as its digits, which is what a template leaves of it; None where it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and re.match(r"^[0-9]{1,6}\Z", value) else None


def parse_address(value: str) -> str:
    """C(ADDRESS/PREFIX) in canonical spelling. Raises ValueError for anything else."""
    return str(ipaddress.ip_interface(value))


def child_name(parent: str, pkey: int) -> str:
    """The name that the kernel gives to a child: C(%.10s.%04x)."""
    return "%s.%04x" % (parent[:PARENT_KEPT], pkey)


def same_partition(one: int, other: int) -> bool:
    """Two P_Keys name one partition when they differ in the membership bit only."""
    return one & 0x7FFF == other & 0x7FFF


def wanted_of(interfaces: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[Wanted, ...]:
    """The declared interfaces, parents before children. The input has passed C(problems)."""
    found = []
    for item in interfaces:
        parent = item.get("parent") or ""
        pkey = parse_pkey(item.get("pkey")) or 0
        found.append(
            Wanted(
                name=item.get("name") or child_name(parent, pkey),
                addresses=tuple(parse_address(address) for address in item.get("addresses") or ()),
                mode=item.get("mode") or "auto",
                mtu=parse_mtu(item.get("mtu")) or 0,
                parent=parent,
                pkey=pkey,
                present=(item.get("state") or "present") == "present",
            )
        )
    return tuple(sorted(found, key=lambda wanted: (wanted.is_child, wanted.name)))


__all__ = (
    "DEFAULT_PKEY",
    "GROUP_MTUS",
    "KERNEL_MODE",
    "KERNEL_MTU",
    "KEYS",
    "MODES",
    "MTU_MAX",
    "MTU_MIN",
    "MTU_MIN_IPV6",
    "NAME_MAX",
    "PARENT_KEPT",
    "STATES",
    "Wanted",
    "child_name",
    "parse_address",
    "parse_mtu",
    "parse_pkey",
    "same_partition",
    "wanted_of",
)
