# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
# Made by `make schema` from roles/fabric_check/meta/argument_specs.yml and plugins/modules/fabric_check.py. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "fabric_check_ports": {"type": "list"},
    "fabric_check_interfaces": {"type": "list"},
    "fabric_check_modules": {"type": "list"},
    "fabric_check_gpudirect": {"type": "str", "choices": ["none", "auto", "nvidia_peermem", "nv_peer_mem", "dmabuf"]},
    "fabric_check_fabric": {"type": "str"},
    "fabric_check_fabric_ports": {"type": "list"},
    "fabric_check_subnet_manager": {"type": "bool"},
    "fabric_check_designated_host": {"type": "str"},
    "fabric_check_designated": {"type": "bool"},
    "fabric_check_standby": {"type": "bool"},
    "fabric_check_designated_names": {"type": "list"},
    "fabric_check_designated_guids": {"type": "list"},
    "fabric_check_wait": {"type": "int", "default": 10},
    "fabric_check_fail": {"type": "bool"},
}

OPTIONS: dict[str, t.Any] = {
    "ports": {"type": "list", "elements": "str", "default": []},
    "interfaces": {"type": "list", "elements": "dict", "default": []},
    "modules": {"type": "list", "elements": "str", "default": []},
    "fabric": {"type": "str", "default": "ib"},
    "subnet_manager": {"type": "bool", "default": True},
    "fabric_ports": {"type": "list", "elements": "str", "default": []},
    "designated": {"type": "bool", "default": False},
    "standby": {"type": "bool", "default": False},
    "designated_host": {"type": "str", "default": ""},
    "designated_names": {"type": "list", "elements": "str", "default": []},
    "designated_guids": {"type": "list", "elements": "str", "default": []},
    "gpudirect": {"type": "str", "choices": ["none", "auto", "nvidia_peermem", "nv_peer_mem", "dmabuf"], "default": "none"},
    "wait": {"type": "int", "default": 0},
    "fail": {"type": "bool", "default": True},
}
