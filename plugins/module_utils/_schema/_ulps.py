# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/ulps.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "protocols": {"type": "list", "elements": "str", "default": []},
    "source": {"type": "str", "choices": ["inbox", "mlnx_ofed", "doca"], "default": "inbox"},
    "openib_conf": {"type": "dict", "default": {}},
    "renewed": {"type": "bool", "default": False},
    "start": {"type": "bool", "default": True},
    "image": {"type": "bool", "default": False},
}
