# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/ib_fabric_check.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "baseline": {"type": "path", "default": ""},
    "save": {"type": "bool", "default": False},
    "name": {"type": "str", "default": "ib"},
    "accepted": {"type": "list", "elements": "dict", "default": []},
    "today": {"type": "str", "default": ""},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "subnet_managers": {"type": "list", "elements": "str", "default": []},
    "line": {"type": "list", "elements": "str", "default": []},
    "managed": {"type": "bool", "default": False},
    "partitions": {"type": "dict", "default": {}},
    "links": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "node": {"type": "str", "default": ""},
            "port": {"type": "int", "default": 0},
            "width": {"type": "str", "default": ""},
            "speed": {"type": "str", "default": ""},
        },
    },
    "gather": {
        "type": "list",
        "elements": "str",
        "choices": ["subnet_managers", "partitions", "switch_firmware"],
        "default": ["subnet_managers", "partitions", "switch_firmware"],
    },
    "node_name_map": {"type": "path", "default": "/etc/rdma/ib-node-name-map"},
    "sa_key": {"type": "str", "default": ""},
    "adapters_of": {"type": "list", "elements": "str", "default": []},
    "report_dir": {"type": "path", "default": ""},
    "show": {"type": "bool", "default": False},
    "fail": {"type": "bool", "default": True},
    "port": {"type": "str", "default": ""},
}
