# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/mlxconfig.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "devices": {
        "type": "list",
        "elements": "dict",
        "required": True,
        "options": {
            "all": {"type": "bool", "default": False},
            "pci": {"type": "str"},
            "psid": {"type": "str"},
            "part_number": {"type": "str"},
            "type": {"type": "str"},
            "guid": {"type": "str"},
            "netdev": {"type": "str"},
            "rdma": {"type": "str"},
            "state": {"type": "str", "choices": ["present", "default"], "default": "present"},
            "parameters": {"type": "dict", "default": {}},
            "names": {"type": "list", "elements": "str", "default": []},
        },
    },
    "tool": {"type": "str", "choices": ["auto", "mlxconfig", "mstconfig"], "default": "auto"},
    "backup": {"type": "bool", "default": False},
    "backup_dir": {"type": "path", "default": "/var/backups/rdma-ofed"},
    "awaiting_firmware": {"type": "list", "elements": "str", "default": []},
    "allow_link_type": {"type": "list", "elements": "str", "default": []},
    "missing": {"type": "str", "choices": ["fail", "ignore"], "default": "fail"},
    "allow_container": {"type": "bool", "default": False},
    "lock_timeout": {"type": "int", "default": 120},
}
