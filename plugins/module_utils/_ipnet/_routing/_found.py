# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is found of the routes by source address. Pure; _record.py carries it to the controller."""

from __future__ import annotations

import typing as t

from ..._host._units import Unit
from ..._tools._ip import RuleRow

SERVICE = "rdma-ofed-ipoib-routes.service"
UNIT_PATH = "/etc/systemd/system/" + SERVICE
SCRIPT_PATH = "/usr/local/libexec/rdma-ofed-ipoib-routes"
FIRST_TABLE, LAST_TABLE = 30700, 30763
"""The routing tables and the priorities of rules that belong to the collection."""


class Routing(t.NamedTuple):
    asked: bool = False
    """Whether the unit and the kernel were looked at."""
    unit_text: str = ""
    script: str = ""
    unit: Unit = Unit(SERVICE)
    systemctl: bool = False
    systemd: bool = False
    """Whether the node was booted with systemd."""
    rules: t.Tuple[RuleRow, ...] = ()
    """Those with our priorities."""
    routes: t.Mapping[int, t.FrozenSet[t.Tuple[str, str]]] = {}
    """By table: networks with their interfaces."""
    addresses: t.FrozenSet[t.Tuple[str, str]] = frozenset()
    """The interfaces that are up, with their addresses without prefix length."""
