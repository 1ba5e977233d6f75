# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/mstflint.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "state": {"type": "str", "choices": ["present", "query"], "default": "present"},
    "devices": {
        "type": "list",
        "elements": "dict",
        "default": [{"all": True}],
        "options": {
            "all": {"type": "bool", "default": False},
            "pci": {"type": "str"},
            "psid": {"type": "str"},
            "part_number": {"type": "str"},
            "type": {"type": "str"},
            "guid": {"type": "str"},
            "netdev": {"type": "str"},
            "rdma": {"type": "str"},
        },
    },
    "images": {"type": "raw"},
    "versions": {"type": "dict"},
    "missing_image": {"type": "str", "choices": ["fail", "skip"], "default": "fail"},
    "allow_downgrade": {"type": "bool", "default": False},
    "allow_another_psid_that_may_destroy_the_adapter": {"type": "bool", "default": False},
    "burn_timeout": {"type": "int", "default": 3600},
    "missing": {"type": "str", "choices": ["fail", "ignore"], "default": "fail"},
    "allow_container": {"type": "bool", "default": False},
    "lock_timeout": {"type": "int", "default": 120},
}
