# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/kernel_policy.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "policy": {"type": "str", "choices": ["build", "pin", "refuse"], "default": "build"},
    "bundle": {"type": "str"},
    "bundle_on": {"type": "str", "choices": ["node", "controller"], "default": "node"},
    "bundle_checksum": {"type": "str"},
    "timeout": {"type": "int", "default": 3600},
    "poll": {"type": "int", "default": 20},
    "attach": {"type": "str", "default": ""},
    "staged": {"type": "str", "default": ""},
    "digest": {"type": "str", "default": ""},
}
