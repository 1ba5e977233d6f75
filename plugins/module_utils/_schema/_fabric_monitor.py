# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/fabric_monitor/meta/argument_specs.yml and plugins/modules/fabric_monitor.py. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "fabric_monitor_state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "fabric_monitor_sampler": {"type": "bool"},
    "fabric_monitor_fabrics": {"type": "dict"},
    "fabric_monitor_interval": {"type": "int", "default": 300},
    "fabric_monitor_only_master": {"type": "bool", "default": True},
    "fabric_monitor_textfile_dir": {"type": "str", "default": "/var/lib/prometheus/node-exporter"},
    "fabric_monitor_node_name_map": {"type": "str", "default": "/etc/rdma/ib-node-name-map"},
    "fabric_monitor_health_checks": {"type": "list", "choices": ["nhc", "slurm"], "default": []},
    "fabric_monitor_health_ports": {"type": "list"},
    "fabric_monitor_health_interfaces": {"type": "list"},
    "fabric_monitor_health_rate_gbps": {"type": "float", "default": 0},
}

OPTIONS: dict[str, t.Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "sampler": {"type": "bool", "default": False},
    "fabrics": {"type": "dict", "default": {}},
    "interval": {"type": "int", "default": 300},
    "only_master": {"type": "bool", "default": True},
    "textfile_dir": {"type": "str", "default": "/var/lib/prometheus/node-exporter"},
    "node_name_map": {"type": "str", "default": "/etc/rdma/ib-node-name-map"},
    "health_checks": {"type": "list", "elements": "str", "choices": ["nhc", "slurm"], "default": []},
    "ports": {"type": "list", "elements": "str", "default": []},
    "interfaces": {"type": "list", "elements": "raw", "default": []},
    "rate_gbps": {"type": "float", "default": 0.0},
    "slurm_node": {"type": "str", "default": ""},
}
