# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/kernel_modules/meta/argument_specs.yml and plugins/modules/kernel_modules.py. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "kernel_modules_state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "kernel_modules_load": {"type": "list", "default": ["ib_umad", "ib_uverbs", "rdma_ucm", "ib_ipoib"]},
    "kernel_modules_options": {"type": "dict", "default": {}},
    "kernel_modules_initramfs": {"type": "str", "choices": ["auto", "never"], "default": "auto"},
    "kernel_modules_initramfs_drivers": {"type": "list", "default": []},
    "kernel_modules_initramfs_cmdline": {"type": "list", "default": []},
    "kernel_modules_memlock": {"type": "str", "default": "unlimited"},
    "kernel_modules_nofile": {"type": "str", "default": "keep"},
    "kernel_modules_device_names": {"type": "str", "choices": ["unmanaged", "kernel", "persistent"], "default": "unmanaged"},
    "kernel_modules_mechanism": {"type": "str", "choices": ["auto", "rdma-core", "modules-load.d"], "default": "auto"},
    "kernel_modules_load_now": {"type": "bool", "default": True},
    "kernel_modules_adopt": {"type": "bool", "default": False},
    "kernel_modules_backup": {"type": "bool", "default": False},
    "kernel_modules_assume_rdma_core": {"type": "bool"},
}

OPTIONS: dict[str, t.Any] = {
    "load": {"type": "list", "elements": "str", "default": []},
    "options": {"type": "dict", "default": {}},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "mechanism": {"type": "str", "choices": ["auto", "rdma-core", "modules-load.d"], "default": "auto"},
    "initramfs": {"type": "str", "choices": ["auto", "never"], "default": "auto"},
    "initramfs_drivers": {"type": "list", "elements": "str", "default": []},
    "initramfs_cmdline": {"type": "list", "elements": "str", "default": []},
    "memlock": {"type": "str", "default": "unlimited"},
    "nofile": {"type": "str", "default": "keep"},
    "load_now": {"type": "bool", "default": True},
    "assume_rdma_core": {"type": "bool", "default": False},
    "adopt": {"type": "bool", "default": False},
    "allow_interruption": {"type": "bool", "default": False},
    "restore": {"type": "bool", "default": False},
    "backup": {"type": "bool", "default": False},
    "device_names": {"type": "str", "choices": ["unmanaged", "kernel", "persistent"], "default": "unmanaged"},
    "rails": {"type": "raw", "default": {}},
    "image": {"type": "bool", "default": False},
}
