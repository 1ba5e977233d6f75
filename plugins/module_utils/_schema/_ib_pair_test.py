# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/ib_pair_test.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "role": {"type": "str", "choices": ["look", "server", "client", "stop"], "required": True},
    "tests": {
        "type": "list",
        "elements": "str",
        "choices": ["ib_write_bw", "ib_send_bw", "ib_write_lat", "iperf3", "ibping"],
        "default": ["ib_write_bw", "ib_send_bw", "ib_write_lat", "ibping"],
    },
    "port": {"type": "str", "default": ""},
    "fabric": {"type": "str", "default": "ib"},
    "seconds": {"type": "int", "default": 5},
    "size": {"type": "int", "default": 65536},
    "tcp_port": {"type": "int", "default": 18600},
    "user": {"type": "str", "default": ""},
    "peer": {
        "type": "dict",
        "options": {
            "address": {"type": "str", "required": True},
            "ip_address": {"type": "str", "default": ""},
            "lid": {"type": "int", "default": 0},
            "failed_tests": {"type": "dict", "default": {}},
        },
    },
}
