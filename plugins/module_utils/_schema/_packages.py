# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/packages.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "purposes": {"type": "list", "elements": "str", "default": []},
    "names": {"type": "list", "elements": "str", "default": []},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "needed": {"type": "str", "choices": ["keep", "remove"], "default": "keep"},
    "start_services": {"type": "bool", "default": True},
    "foreseen": {
        "type": "dict",
        "default": {},
        "options": {"installed": {"type": "dict", "default": {}}, "removed": {"type": "list", "elements": "str", "default": []}},
    },
    "lifted": {"type": "bool", "default": False},
    "remembered": {"type": "bool", "default": True},
    "trust_look": {"type": "bool", "default": True},
    "unsupported": {"type": "str", "default": ""},
    "image": {"type": "bool", "default": False},
}
