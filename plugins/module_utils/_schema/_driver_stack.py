# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/driver_stack.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "source": {"type": "str", "choices": ["mlnx_ofed", "doca"], "default": "mlnx_ofed"},
    "version": {"type": "str"},
    "bundle": {"type": "str"},
    "bundle_checksum": {"type": "str"},
    "method": {"type": "str", "choices": ["installer", "repository"], "default": "installer"},
    "packages": {"type": "str"},
    "installer_options": {"type": "list", "elements": "str", "default": []},
    "repository": {"type": "str"},
    "repository_key": {"type": "str", "no_log": False},
    "repository_trusted": {"type": "bool", "default": False},
    "allow_removal": {"type": "list", "elements": "str", "default": []},
    "allow_upgrade": {"type": "bool", "default": False},
    "keep": {"type": "list", "elements": "str", "default": []},
    "keep_purposes": {"type": "list", "elements": "str", "default": []},
    "firmware_update": {"type": "bool", "default": False},
    "protect_packages": {"type": "bool", "default": True},
    "openib_conf": {"type": "dict", "default": {}},
    "ulps": {"type": "list", "elements": "str", "default": []},
    "timeout": {"type": "int", "default": 7200},
    "bundle_on": {"type": "str", "choices": ["node", "controller"], "default": "node"},
    "poll": {"type": "int", "default": 20},
    "attach": {"type": "str", "default": ""},
    "staged": {"type": "str", "default": ""},
    "digest": {"type": "str", "default": ""},
}
