# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/ib_fabric_info.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "gather": {
        "type": "list",
        "elements": "str",
        "choices": ["subnet_managers", "partitions", "multicast_groups", "switch_firmware"],
        "default": ["subnet_managers", "partitions", "multicast_groups"],
    },
    "sa_key": {"type": "str", "default": ""},
    "port": {"type": "str", "default": ""},
    "node_name_map": {"type": "path", "default": "/etc/rdma/ib-node-name-map"},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "guids": {"type": "list", "elements": "str", "default": []},
    "lids": {"type": "list", "elements": "int", "default": []},
}
