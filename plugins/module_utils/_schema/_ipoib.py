# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/ipoib/meta/argument_specs.yml and plugins/modules/ipoib.py. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "ipoib_state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "ipoib_interfaces": {"type": "list", "default": []},
    "ipoib_backend": {"type": "str", "choices": ["auto", "systemd-networkd", "ifupdown", "netplan", "networkmanager", "ifcfg", "wicked"], "default": "auto"},
    "ipoib_backup": {"type": "bool", "default": False},
    "ipoib_rollback_timeout": {"type": "int", "default": 0},
    "ipoib_adopt": {"type": "bool", "default": False},
}

OPTIONS: dict[str, t.Any] = {
    "interfaces": {"type": "list", "elements": "raw", "default": []},
    "backend": {"type": "str", "choices": ["auto", "systemd-networkd", "ifupdown", "netplan", "networkmanager", "ifcfg", "wicked"], "default": "auto"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "backup": {"type": "bool", "default": False},
    "rollback_timeout": {"type": "int", "default": 0},
    "confirm": {"type": "str", "default": ""},
    "adopt": {"type": "bool", "default": False},
    "allow_interruption": {"type": "bool", "default": False},
    "restore": {"type": "bool", "default": False},
    "allow_removal": {"type": "bool", "default": False},
    "image": {"type": "bool", "default": False},
}
