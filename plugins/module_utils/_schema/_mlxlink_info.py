# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/mlxlink_info.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "ports": {"type": "list", "elements": "str", "default": []},
    "part_numbers": {"type": "list", "elements": "str", "default": []},
    "min_speed": {"type": "str", "default": ""},
    "max_effective_ber": {"type": "float", "default": 1e-12},
}
