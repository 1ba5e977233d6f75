# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/ipoib_network/meta/argument_specs.yml and plugins/modules/ipoib_network.py. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "ipoib_network_state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "ipoib_network_arp": {"type": "str", "choices": ["auto", "keep"], "default": "auto"},
    "ipoib_network_neighbours": {"type": "str", "default": "auto"},
    "ipoib_network_firewall": {"type": "str", "choices": ["keep", "trusted"], "default": "keep"},
    "ipoib_network_firewall_zone": {"type": "str", "default": "trusted"},
    "ipoib_network_policy_routing": {"type": "bool", "default": False},
}

OPTIONS: dict[str, t.Any] = {
    "interfaces": {"type": "list", "elements": "raw", "default": []},
    "arp": {"type": "str", "choices": ["auto", "keep"], "default": "auto"},
    "neighbours": {"type": "str", "default": "auto"},
    "firewall": {"type": "str", "choices": ["keep", "trusted"], "default": "keep"},
    "firewall_zone": {"type": "str", "default": "trusted"},
    "policy_routing": {"type": "bool", "default": False},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "image": {"type": "bool", "default": False},
}
