# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/job_test.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "role": {"type": "str", "choices": ["look", "run"], "required": True},
    "user": {"type": "str", "required": True},
    "user_id": {"type": "int", "default": -1},
    "port": {"type": "str", "default": ""},
    "node": {"type": "str", "default": ""},
    "address": {"type": "str", "default": ""},
    "launcher": {"type": "str", "choices": ["slurm", "ssh"], "default": "slurm"},
    "groups": {"type": "list", "elements": "list", "default": []},
    "tests": {
        "type": "list",
        "elements": "str",
        "choices": ["memlock", "container", "ib_write_bw", "pingpong", "alltoall", "allreduce"],
        "default": ["memlock", "container", "ib_write_bw", "pingpong", "alltoall", "allreduce"],
    },
    "setup": {"type": "str", "default": ""},
    "environment": {"type": "dict", "default": {}},
    "container": {"type": "list", "elements": "str", "default": []},
    "mpi": {"type": "str", "default": ""},
    "options": {"type": "list", "elements": "str", "default": []},
    "gpus": {"type": "int", "default": 1},
    "seconds": {"type": "int", "default": 5},
    "size": {"type": "int", "default": 65536},
    "tcp_port": {"type": "int", "default": 18600},
    "step_seconds": {"type": "int", "default": 60},
    "wait": {"type": "int", "default": 300},
}
