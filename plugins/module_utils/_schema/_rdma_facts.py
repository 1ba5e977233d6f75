# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/rdma_facts.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "gather": {
        "type": "list",
        "elements": "str",
        "choices": ["stack", "kernels", "modules", "hcas", "ports", "netdevs", "usage", "ssh", "machine", "soft_links", "gpu"],
        "default": ["stack", "kernels", "modules", "hcas", "ports", "netdevs", "usage", "ssh", "machine", "soft_links", "gpu"],
    },
    "keep_look": {"type": "bool", "default": False},
    "discover": {"type": "bool", "default": False},
    "reuse": {"type": "bool", "default": False},
    "image": {"type": "bool", "default": False},
    "require_root": {"type": "bool", "default": False},
    "find_python": {"type": "bool", "default": False},
    "keep_failure": {"type": "bool", "default": False},
    "look": {"type": "dict", "default": {}},
}
