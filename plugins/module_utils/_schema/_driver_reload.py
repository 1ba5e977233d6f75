# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/driver_reload.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "policy": {"type": "str", "choices": ["never", "if_idle", "reboot", "force"], "default": "if_idle"},
    "because": {"type": "list", "elements": "str", "default": []},
    "cut_ssh_connection": {"type": "bool", "default": False},
    "allow_reload": {"type": "bool", "default": False},
    "allow_container": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 300},
    "assume_changed": {"type": "bool", "default": False},
}
