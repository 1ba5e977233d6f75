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
    "fabric_check_device_names": {"type": "str", "choices": ["unmanaged", "kernel", "persistent"], "default": "unmanaged"},
    "fabric_check_stack": {"type": "str", "choices": ["none", "inbox", "mlnx_ofed", "doca"], "default": "none"},
    "fabric_check_cables": {"type": "bool", "default": False},
    "fabric_check_cable_part_numbers": {"type": "list", "default": []},
    "fabric_check_min_speed": {"type": "str", "default": ""},
    "fabric_check_max_effective_ber": {"type": "float", "default": 1e-12},
    "fabric_check_pcie": {"type": "bool"},
    "fabric_check_pcie_accepted": {"type": "list", "default": []},
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
    "ipoib_backend": {"type": "str", "choices": ["auto", "systemd-networkd", "ifupdown", "netplan", "networkmanager", "ifcfg", "wicked"], "default": "auto"},
    "modules": {"type": "list", "elements": "str", "default": []},
    "kernel_modules_options": {"type": "dict", "default": {}},
    "kernel_modules_mechanism": {"type": "str", "choices": ["auto", "rdma-core", "modules-load.d"], "default": "auto"},
    "kernel_modules_load_now": {"type": "bool", "default": True},
    "kernel_modules_initramfs_drivers": {"type": "list", "elements": "str", "default": []},
    "kernel_modules_memlock": {"type": "str", "default": "unlimited"},
    "kernel_modules_initramfs_cmdline": {"type": "list", "elements": "str", "default": []},
    "device_names": {"type": "str", "choices": ["unmanaged", "kernel", "persistent"], "default": "unmanaged"},
    "ofed_source": {"type": "str", "choices": ["none", "inbox", "mlnx_ofed", "doca"], "default": "none"},
    "ofed_version": {"type": "str", "default": ""},
    "ofed_bundle": {"type": "str", "default": ""},
    "cables": {"type": "bool", "default": False},
    "cable_part_numbers": {"type": "list", "elements": "str", "default": []},
    "min_speed": {"type": "str", "default": ""},
    "max_effective_ber": {"type": "float", "default": 1e-12},
    "pcie": {"type": "bool", "default": False},
    "pcie_accepted": {"type": "list", "elements": "str", "default": []},
    "gpudirect": {"type": "str", "choices": ["none", "auto", "nvidia_peermem", "nv_peer_mem", "dmabuf"], "default": "none"},
    "gpudirect_peerdirect_support": {"type": "str", "choices": ["auto", "0", "1"], "default": "auto"},
    "gpudirect_allow_rebuild": {"type": "bool", "default": False},
    "gpudirect_source": {"type": "str", "default": "https://github.com/Mellanox/nv_peer_memory.git"},
    "gpudirect_commit": {"type": "str", "default": "d9a0a126bc31279e63e4b47bfb59ee767cea7aad"},
    "gpudirect_checksum": {"type": "str", "default": ""},
    "fabric": {"type": "str", "default": "ib"},
    "fabric_ports": {"type": "list", "elements": "str", "default": []},
    "subnet_manager": {"type": "bool", "default": True},
    "designated": {"type": "bool", "default": False},
    "standby": {"type": "bool", "default": False},
    "designated_host": {"type": "str", "default": ""},
    "designated_absent": {"type": "bool", "default": False},
    "designated_names": {"type": "list", "elements": "str", "default": []},
    "designated_guids": {"type": "list", "elements": "str", "default": []},
    "wait": {"type": "int", "default": 0},
    "fail": {"type": "bool", "default": True},
}
