# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/ofed/meta/argument_specs.yml. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "ofed_state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "ofed_source": {"type": "str", "choices": ["inbox", "mlnx_ofed", "doca"], "default": "inbox"},
    "ofed_tools": {"type": "bool", "default": True},
    "ofed_extra_packages": {"type": "list", "default": []},
    "ofed_version": {"type": "str", "default": ""},
    "ofed_bundle": {"type": "str", "default": ""},
    "ofed_bundle_on": {"type": "str", "choices": ["node", "controller"], "default": "node"},
    "ofed_bundle_checksum": {"type": "str", "default": ""},
    "ofed_method": {"type": "str", "choices": ["installer", "repository"], "default": "installer"},
    "ofed_packages": {"type": "str", "default": ""},
    "ofed_installer_options": {"type": "list", "default": []},
    "ofed_repository": {"type": "str", "default": ""},
    "ofed_repository_key": {"type": "str", "default": ""},
    "ofed_repository_trusted": {"type": "bool", "default": False},
    "ofed_allow_removal": {"type": "list", "default": []},
    "ofed_firmware_update": {"type": "bool", "default": False},
    "ofed_protect_packages": {"type": "bool", "default": True},
    "ofed_openib_conf": {"type": "dict", "default": {}},
    "ofed_ulps": {"type": "list", "choices": ["ibacm", "srp", "iser", "nfsrdma", "nvmf", "rds"], "default": []},
    "ofed_reload": {"type": "str", "choices": ["never", "if_idle", "reboot", "force"], "default": "if_idle"},
    "ofed_cut_ssh_connection": {"type": "bool", "default": False},
    "ofed_kernel_policy": {"type": "str", "choices": ["build", "pin", "refuse"], "default": "build"},
    "ofed_rebuild_tasks": {"type": "str", "default": ""},
    "ofed_timeout": {"type": "int", "default": 7200},
}
