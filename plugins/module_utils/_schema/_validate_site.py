# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/validate_site.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "role": {"type": "str", "choices": ["ofed", "fabric", "discover", "rehearse"]},
    "foresee": {"type": "bool", "default": False},
    "refused": {"type": "dict", "default": {}},
    "images": {"type": "bool", "default": False},
    "fail": {"type": "bool", "default": True},
}
