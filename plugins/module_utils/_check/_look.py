# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read from a node what the inventory declares. Read-only, without decisions."""

from __future__ import annotations

import typing as t

from .._expectations import EXPECTATIONS
from ._expect import around, checked_ports, scope_of
from ._found import Found
from ._live._look import look as look_live
from ._live._look import read_parts

if t.TYPE_CHECKING:
    from .._host._node import Node
    from ._wanted import Wanted


def look(node: Node, wanted: Wanted) -> Found:
    """Look at the node. What can't be read is returned as missing, with the reason."""
    found = _with(node, wanted, Found(read_parts(node)), slow=False)
    scope = scope_of(wanted)._replace(ports=checked_ports(wanted, found))
    return found._replace(live=look_live(node.run, scope, found.live, root=node.root))


def look_at_last(node: Node, wanted: Wanted, found: Found) -> Found:
    """Complete `found` with the queries that take the tools seconds per adapter."""
    return _with(node, wanted, found, slow=True)


def _with(node: Node, wanted: Wanted, found: Found, *, slow: bool) -> Found:
    due = [each for each in EXPECTATIONS if each.name in wanted.concerns and each.slow is slow]
    here = around(wanted, found)
    return found._replace(concerns={**found.concerns, **{each.name: each.look(node, wanted.concerns[each.name], here) for each in due}})
