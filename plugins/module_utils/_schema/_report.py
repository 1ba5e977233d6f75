# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/report.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "kind": {
        "type": "str",
        "choices": ["discovery", "gpus", "jobs", "nodes", "pairs", "pending", "refusals", "rehearsal", "summary", "support"],
        "required": True,
    },
    "variable": {"type": "str", "default": ""},
    "variables": {"type": "list", "elements": "str", "default": ["rdma_site"]},
    "failures": {"type": "list", "elements": "str", "default": []},
    "report_dir": {"type": "path", "default": ""},
    "foresee": {"type": "bool", "default": False},
    "full": {"type": "bool", "default": False},
    "quiet": {"type": "bool", "default": False},
    "ends": {"type": "dict", "default": {}},
    "launcher": {"type": "str", "choices": ["slurm", "ssh"], "default": "slurm"},
    "measured": {"type": "str", "default": ""},
    "user": {"type": "str", "default": ""},
    "tests": {"type": "list", "elements": "str", "default": []},
    "required": {"type": "list", "elements": "str", "default": []},
    "memlock": {"type": "str", "default": "unlimited"},
    "max_alltoall_usec": {"type": "float", "default": 0.0},
    "min_gbps": {"type": "float", "default": 0.0},
    "min_share": {"type": "float", "default": 0.8},
    "min_ipoib_gbps": {"type": "float", "default": 0.0},
    "max_usec": {"type": "float", "default": 0.0},
    "outlier": {"type": "float", "default": 0.7},
    "fail": {"type": "bool", "default": True},
    "role": {"type": "str", "default": ""},
    "strict": {"type": "bool", "default": False},
    "keep_looks": {"type": "bool", "default": True},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "alive": {"type": "list", "elements": "str", "default": []},
    "once_all_arrived": {"type": "bool", "default": False},
    "untouched": {"type": "list", "elements": "str", "default": []},
    "deviations": {"type": "raw", "default": []},
    "findings": {"type": "list", "elements": "str", "default": []},
    "output": {"type": "str", "default": ""},
    "plan": {"type": "dict", "default": {}},
    "size": {"type": "int", "default": 65536},
    "group": {"type": "str", "default": "rdma"},
    "before": {"type": "bool", "default": False},
    "overwrite": {"type": "bool", "default": False},
    "single_file": {"type": "bool", "default": False},
    "explicit": {"type": "bool", "default": False},
    "parts": {"type": "path", "default": ""},
    "dest": {"type": "path", "default": "."},
}
