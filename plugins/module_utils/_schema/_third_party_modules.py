# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/third_party_modules.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "dkms": {"type": "bool", "default": True},
    "modules": {"type": "list", "elements": "dict", "default": []},
    "stack": {"type": "str", "choices": ["kept", "dkms", "absent"], "default": "kept"},
    "tasks": {"type": "str", "default": ""},
    "timeout": {"type": "int", "default": 7200},
    "poll": {"type": "int", "default": 20},
    "attach": {"type": "str", "default": ""},
}
