# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Declared interfaces for the simulated network stacks."""

from __future__ import annotations

import typing as t

STACKS = ["systemd-networkd", "ifupdown", "networkmanager"]
ROUTES = [{"to": "10.30.0.0/16", "via": "10.20.0.254", "metric": 100}, {"to": "default", "via": "10.20.0.253"}]
BOND: dict[str, t.Any] = {
    "name": "bond0",
    "mode": "connected",
    "addresses": ["10.20.0.1/24"],
    "routes": ROUTES,
    "bond": {"ports": ["ib0", "ib1"], "primary": "ib1"},
}
CHILDREN: list[dict[str, t.Any]] = [
    {"name": "ib0", "mode": "datagram"},
    {"name": "ib1", "mode": "connected"},
    {"parent": "ib0", "pkey": 0x8001},
    {"parent": "ib1", "pkey": 0x8001},
    {"name": "bond1", "addresses": ["10.21.0.1/24"], "mtu": 65520, "mode": "connected", "bond": {"ports": ["ib0.8001", "ib1.8001"]}},
]
WANTED: dict[str, list[dict[str, t.Any]]] = {
    "route": [{"name": "ib0", "mode": "connected", "addresses": ["10.20.0.1/24"], "routes": ROUTES}],
    "bond": [BOND],
    "datagram bond": [{**BOND, "mode": "datagram", "routes": [], "bond": {"ports": ["ib0", "ib1"], "miimon": 50}}],
    "children": CHILDREN,
    "smaller bond": [{**BOND, "bond": {"ports": ["ib0"]}}, {"name": "ib1", "mode": "connected", "addresses": ["10.22.0.1/24"]}],
}
