# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
# Made by `make schema` from meta/argument_specs.yml. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "fabric": {"type": "str", "default": "ib"},
    "fabric_adapters": {"type": "bool"},
    "fabric_baseline": {"type": "path"},
    "fabric_host": {"type": "str"},
    "fabric_hosts": {"type": "list"},
    "fabric_links": {"type": "list", "default": []},
    "fabric_partitions": {"type": "dict", "default": {}},
    "fabric_report_dir": {"type": "path"},
    "fabric_sa_key": {"type": "str"},
    "fabric_save_baseline": {"type": "bool", "default": False},
    "fabric_subnet_managers": {"type": "list", "default": []},
    "gpudirect_test_address": {"type": "str"},
    "gpudirect_test_device": {"type": "str"},
    "gpudirect_test_gpu": {"type": "int", "default": 0},
    "gpudirect_test_hosts": {"type": "list"},
    "gpudirect_test_minimum": {"type": "float", "default": 0},
    "gpudirect_test_port": {"type": "int", "default": 18515},
    "gpudirect_test_seconds": {"type": "int", "default": 10},
    "gpudirect_test_size": {"type": "int", "default": 65536},
    "gpudirect_test_way": {"type": "str", "choices": ["auto", "dmabuf"], "default": "auto"},
    "rdma_allow_container": {"type": "bool", "default": False},
    "rdma_allow_reboot": {"type": "bool", "default": False},
    "rdma_allow_reload": {"type": "bool", "default": False},
    "rdma_allow_removal": {"type": "bool", "default": False},
    "rdma_allow_reset": {"type": "bool", "default": False},
    "rdma_allow_upgrade": {"type": "bool", "default": False},
    "rdma_drain_tasks": {"type": "str"},
    "rdma_fabrics": {"type": "dict"},
    "rdma_hosts": {"type": "str", "default": "rdma"},
    "rdma_own_variables": {"type": "list", "default": []},
    "rdma_pbs_comment": {"type": "str"},
    "rdma_pbs_host": {"type": "str"},
    "rdma_pbs_node": {"type": "str"},
    "rdma_pbs_timeout": {"type": "int", "default": 3600},
    "rdma_ports": {"type": "list"},
    "rdma_reboot_firmware": {"type": "bool", "default": False},
    "rdma_reboot_timeout": {"type": "int", "default": 1800},
    "rdma_remove": {"type": "bool", "default": False},
    "rdma_serial": {"type": "raw", "default": 1},
    "rdma_settle_timeout": {"type": "int", "default": 60},
    "rdma_slurm_host": {"type": "str"},
    "rdma_slurm_node": {"type": "str"},
    "rdma_slurm_reason": {"type": "str"},
    "rdma_slurm_timeout": {"type": "int", "default": 3600},
    "rdma_undrain_tasks": {"type": "str"},
    "rdma_upgrade_groups": {"type": "list", "default": []},
    "rdma_verify": {"type": "bool", "default": True},
    "support_bundle_dir": {"type": "path"},
}
