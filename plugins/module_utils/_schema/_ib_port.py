# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/ib_port.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "node": {"type": "str", "default": ""},
    "guid": {"type": "str", "default": ""},
    "number": {"type": "int"},
    "state": {"type": "str", "choices": ["unchanged", "enabled", "disabled", "reset"], "default": "unchanged"},
    "speeds": {"type": "list", "elements": "str", "choices": ["SDR", "DDR", "QDR", "FDR", "EDR", "HDR", "NDR", "XDR"], "default": []},
    "widths": {"type": "list", "elements": "str", "choices": ["1X", "2X", "4X", "8X", "12X"], "default": []},
    "allow_disconnect": {"type": "bool", "default": False},
    "port": {"type": "str", "default": ""},
    "node_name_map": {"type": "path", "default": "/etc/rdma/ib-node-name-map"},
}
