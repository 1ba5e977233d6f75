# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/pair_table.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "ends": {"type": "dict", "required": True},
    "variable": {"type": "str", "required": True},
    "min_gbps": {"type": "float", "default": 0.0},
    "min_share": {"type": "float", "default": 0.8},
    "min_ipoib_gbps": {"type": "float", "default": 0.0},
    "max_usec": {"type": "float", "default": 0.0},
    "outlier": {"type": "float", "default": 0.7},
    "report_dir": {"type": "path", "default": ""},
    "fail": {"type": "bool", "default": True},
}
