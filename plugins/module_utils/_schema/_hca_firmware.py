# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/hca_firmware/meta/argument_specs.yml. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "hca_firmware_devices": {"type": "list", "default": [{"all": True}]},
    "hca_firmware_images": {"type": "raw", "default": {}},
    "hca_firmware_versions": {"type": "dict", "default": {}},
    "hca_firmware_allow_downgrade": {"type": "bool", "default": False},
    "hca_firmware_config": {"type": "list", "default": []},
    "hca_firmware_missing": {"type": "str", "choices": ["fail", "ignore"], "default": "ignore"},
    "hca_firmware_backup": {"type": "bool", "default": True},
    "hca_firmware_install_tools": {"type": "bool", "default": True},
    "hca_firmware_reset_timeout": {"type": "int", "default": 60},
}
