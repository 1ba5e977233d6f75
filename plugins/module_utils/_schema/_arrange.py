# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/arrange.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "kind": {"type": "str", "choices": ["batches", "firmware", "gpus", "jobs", "pairs", "pending", "rehearsal", "subnet_managers"], "required": True},
    "due": {"type": "str", "default": ""},
    "groups": {"type": "list", "elements": "str", "default": []},
    "serial": {"type": "raw", "default": 1},
    "adapters": {"type": "list", "elements": "dict", "default": []},
    "allow_reset": {"type": "bool", "default": False},
    "allow_reboot": {"type": "bool", "default": False},
    "drains": {"type": "bool", "default": False},
    "cycles": {"type": "bool", "default": False},
    "help": {"type": "str", "default": ""},
    "gpu": {"type": "int", "default": 0},
    "device": {"type": "str", "default": ""},
    "way": {"type": "str", "choices": ["auto", "dmabuf"], "default": "auto"},
    "ends": {"type": "dict", "default": {}},
    "number": {"type": "int", "default": 0},
    "scope": {"type": "str", "choices": ["auto", "all", "ring", "pairs"], "default": "auto"},
    "launcher": {"type": "str", "choices": ["auto", "slurm", "ssh"], "default": "auto"},
    "submit": {"type": "str", "default": ""},
    "known": {"type": "list", "elements": "dict", "default": []},
    "found": {"type": "list", "elements": "dict", "default": []},
    "source": {"type": "path", "default": ""},
    "template": {"type": "str", "default": ""},
    "after": {"type": "path", "default": ""},
    "managers": {"type": "list", "elements": "str", "default": []},
    "variables": {"type": "dict", "default": {}},
    "restart": {"type": "bool", "default": False},
    "patience": {"type": "int", "default": 120},
}
