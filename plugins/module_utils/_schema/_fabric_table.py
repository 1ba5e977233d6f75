# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/fabric_table.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "variable": {"type": "str", "required": True},
    "variables": {"type": "list", "elements": "str", "default": ["rdma_site"]},
    "failures": {"type": "list", "elements": "str", "default": []},
    "foresee": {"type": "bool", "default": False},
    "full": {"type": "bool", "default": False},
    "quiet": {"type": "bool", "default": False},
    "report_dir": {"type": "path", "default": ""},
}
