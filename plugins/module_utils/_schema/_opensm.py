# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/opensm/meta/argument_specs.yml and plugins/modules/opensm.py. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "opensm_state": {"type": "str", "choices": ["present", "unmanaged", "absent"], "default": "present"},
    "opensm_rank": {"type": "raw"},
    "opensm_standby": {"type": "bool", "default": False},
    "opensm_fabrics": {"type": "dict", "default": {}},
    "opensm_port": {"type": "str", "default": ""},
    "opensm_port_guid": {"type": "str", "default": ""},
    "opensm_priority": {"type": "int", "default": 13},
    "opensm_wait_timeout": {"type": "int", "default": 60},
    "opensm_allow_foreign_master": {"type": "bool", "default": False},
    "opensm_outrank_foreign_master": {"type": "bool", "default": False},
    "opensm_give_up": {"type": "list", "default": []},
    "opensm_adopt": {"type": "bool", "default": False},
    "opensm_log_file": {"type": "str", "default": ""},
    "opensm_routing_engine": {"type": "list", "default": []},
    "opensm_root_guids": {"type": "list", "default": []},
    "opensm_qos": {"type": "bool", "default": False},
    "opensm_qos_policy": {"type": "str", "default": ""},
    "opensm_sm_key": {"type": "str", "default": ""},
    "opensm_log_max_size": {"type": "int", "default": 128},
    "opensm_log_flags": {"type": "str", "default": ""},
    "opensm_options": {"type": "dict", "default": {}},
    "opensm_secret_options": {"type": "dict", "default": {}},
    "opensm_partitions": {"type": "list", "default": []},
    "opensm_port_guids": {"type": "list", "default": []},
    "opensm_node_names": {"type": "dict", "default": {}},
    "opensm_node_guids": {"type": "dict", "default": {}},
}

OPTIONS: dict[str, t.Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "instances": {
        "type": "list",
        "elements": "dict",
        "options": {
            "fabric": {"type": "str", "default": "ib"},
            "role": {"type": "str", "choices": ["master", "standby"], "default": "master"},
            "priority": {"type": "int", "default": 13},
            "port": {"type": "str"},
            "port_guid": {"type": "str"},
            "subnet_prefix": {"type": "str", "default": "0xfe80000000000000"},
            "log_file": {"type": "path"},
            "designated_host": {"type": "str"},
            "peer_guids": {"type": "list", "elements": "str", "default": []},
            "other_guids": {"type": "list", "elements": "str", "default": []},
        },
    },
    "by_inventory": {"type": "bool", "default": False},
    "partitions": {"type": "dict", "default": {}},
    "absent_members": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "fabric": {"type": "str", "required": True},
            "pkey": {"type": "int", "required": True, "no_log": False},
            "host": {"type": "str", "required": True},
            "membership": {"type": "str", "choices": ["full", "limited", "both"], "required": True},
        },
    },
    "node_names": {"type": "dict", "options": {"hosts": {"type": "dict", "default": {}}, "names": {"type": "dict", "default": {}}}},
    "routing_engine": {"type": "list", "elements": "str"},
    "root_guids": {"type": "list", "elements": "str"},
    "qos": {"type": "bool"},
    "qos_policy": {"type": "str"},
    "sm_key": {"type": "str", "no_log": True},
    "log_max_size": {"type": "int", "default": 128},
    "log_flags": {"type": "str"},
    "options": {"type": "dict", "default": {}},
    "secret_options": {"type": "dict", "default": {}, "no_log": True},
    "wait_timeout": {"type": "int", "default": 60},
    "known_hosts": {"type": "list", "elements": "str", "default": []},
    "allow_foreign_master": {"type": "bool", "default": False},
    "outrank_foreign_master": {"type": "bool", "default": False},
    "give_up": {"type": "list", "elements": "str", "default": []},
    "adopt": {"type": "bool", "default": False},
    "declared_settings": {"type": "list", "elements": "str", "default": []},
    "allow_removal": {"type": "bool", "default": False},
    "restore": {"type": "bool", "default": False},
    "package_installed": {"type": "bool", "default": False},
    "known_guids": {"type": "dict", "default": {}},
    "stack_replaced": {"type": "bool", "default": False},
    "image": {"type": "bool", "default": False},
}
