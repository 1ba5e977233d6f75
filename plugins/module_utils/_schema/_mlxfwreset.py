# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/mlxfwreset.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "state": {"type": "str", "choices": ["query", "reset"], "default": "query"},
    "adapters": {"type": "list", "elements": "str", "default": []},
    "tried": {"type": "str", "choices": ["nothing", "reset", "reboot", "power_cycle"], "default": "nothing"},
    "foreseen": {"type": "list", "elements": "dict", "default": []},
    "disconnect_rdma_users": {"type": "bool", "default": False},
    "cut_ssh_connection": {"type": "bool", "default": False},
    "allow_container": {"type": "bool", "default": False},
    "wait_timeout": {"type": "int", "default": 60},
}
