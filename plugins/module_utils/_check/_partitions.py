# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the partitions of a node's ports with those that the inventory declares for it. Pure.

The subnet manager knows a member by its port GUID. After a replacement of the HCA, its partitions still have the former one.
"""

from __future__ import annotations

import typing as t

from .._finding import Code, Finding, Topic
from .._opensm._told._expect import differences
from .._tools._sminfo import MASTER

if t.TYPE_CHECKING:
    from ._live._types import Live
    from ._types import Fabric

_ACTIVE = "ACTIVE"
_LIMITED = "limited"


def partition_findings(live: Live, fabric: Fabric) -> list[Finding]:
    """The declared partitions of which a port is no member, or has the other membership. Without a master nothing is compared: nothing assigns P_Keys."""
    manager = live.manager(fabric.fabric)
    if manager.master is None or manager.master.state != MASTER:
        return []
    wanted = {pkey: membership != _LIMITED for pkey, membership in fabric.partitions.items()}
    found: list[Finding] = []
    for port in live.ports:
        table = manager.tables.get(port.name)
        # Partitions of which the inventory says nothing may be declared by port or keyword.
        own = {pkey: full for pkey, full in (table or {}).items() if pkey in wanted}
        if table and port.state == _ACTIVE and port.device not in live.virtual:
            found += [
                Finding(Code.MEMBERSHIP_DIFFERS, Topic.PARTITION, "%s 0x%04x" % (each.port, each.pkey), "", each.wanted, each.found, fabric.fabric)
                for each in differences(wanted, own, port.name)
            ]
    return found
