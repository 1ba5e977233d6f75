# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Software RDMA links: their types and names, and how rdma(8) and sysfs show them. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import read_json

SHOW = ("rdma", "-j", "link")

# The driver of each type. Its alias, by which the kernel itself asks for it, is rdma-link-TYPE.
MODULES: t.Mapping[str, str] = {"rxe": "rdma_rxe", "siw": "siw"}
PROTOCOLS: t.Mapping[str, str] = {"rxe": "RoCE", "siw": "iWARP"}

# /sys/class/infiniband/*/node_type of what has no hardware below: RoCE is a channel adapter, iWARP an RNIC.
_NODE_TYPES: t.Mapping[str, str] = {"1": "rxe", "4": "siw"}


class Link(t.NamedTuple):
    """An RDMA device that a driver makes on top of a network interface."""

    name: str
    type: str
    netdev: str

    def words(self) -> str:
        return "%s on %s" % (self.type, self.netdev)


def parse_netdevs(stdout: str) -> dict[str, str]:
    """`rdma -j link` -> the network interface of each RDMA device, "" where it has none. Raises UnexpectedOutput."""
    if not stdout.strip():
        return {}
    rows = read_json(stdout)
    if not isinstance(rows, list):
        raise UnexpectedOutput("%s printed no list in JSON: %r" % (" ".join(SHOW), stdout[:80]))
    found: dict[str, str] = {}
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("ifname"), str):
            netdev = row.get("netdev")
            # iproute2 before 5.0 prints DEVICE/PORT.
            found[row["ifname"].split("/", 1)[0]] = netdev if isinstance(netdev, str) else ""
    return found


def type_of(virtual: bool, node_type: str) -> str:
    """`node_type` is the file's content, `1: CA`. "" for hardware."""
    return _NODE_TYPES.get(node_type.split(":", 1)[0].strip(), "") if virtual else ""
