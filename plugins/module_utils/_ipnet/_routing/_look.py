# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the unit that keeps the routes by source address, and at what the kernel has of them."""

from __future__ import annotations

import typing as t

from ..._host._files import read_text, under
from ..._host._units import Unit, show_units, systemd_runs
from ..._tools import _ip
from ._found import FIRST_TABLE, LAST_TABLE, SCRIPT_PATH, SERVICE, UNIT_PATH, Routing

if t.TYPE_CHECKING:
    from ..._host._node import Node


def look(node: Node, *, asked: bool, chroot: bool) -> Routing:
    """The state of the node. `asked`: whether it matters even without a unit. Takes a process for the unit, two for addresses and rules, and one per table."""
    root = node.root
    found = Routing(unit_text=read_text(under(root, UNIT_PATH)), script=read_text(under(root, SCRIPT_PATH)))
    if not asked and not found.unit_text and not found.script:
        return found
    systemd = systemd_runs(root) and not chroot
    systemctl = node.run.has("systemctl")
    found = found._replace(asked=True, systemctl=systemctl, systemd=systemd, unit=_unit(node) if systemctl else Unit(SERVICE))
    return _of_kernel(node, found) if systemd and node.run.has("ip") else found


def _unit(node: Node) -> Unit:
    return show_units(node.run, [SERVICE])[SERVICE]


def _of_kernel(node: Node, found: Routing) -> Routing:
    # A kernel may have been built without rules.
    rules = node.run(_ip.RULES, ok=None)
    rows = [row for row in _ip.parse_rules(rules.stdout) if FIRST_TABLE <= row.priority <= LAST_TABLE] if rules.rc == 0 else []
    routes = {}
    for table in sorted({row.table for row in rows if row.table == row.priority}):
        output = node.run(_ip.table_of(table), ok=None)
        routes[table] = frozenset(_ip.parse_table(output.stdout)) if output.rc == 0 else frozenset()
    return found._replace(rules=tuple(rows), routes=routes, addresses=frozenset(_ip.parse_up(node.run(_ip.ADDRESSES, ok=None).stdout)))
