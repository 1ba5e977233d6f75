# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module mlxconfig on a node of `firmware_node`."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config import _converge as _config_converge

from support.firmware_node import Node


def converge(node: Node, entries: t.Any, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    node.calls.clear()
    node.check_mode = check
    folder = str(node.root / "backups")
    defaults = {
        "missing": "fail",
        "tool": "auto",
        "backup": False,
        "backup_dir": folder,
        "allow_container": True,
        "awaiting_firmware": [],
        "allow_link_type": [],
        "lock_timeout": 5,
    }
    node.params = {**defaults, **params, "devices": entries}
    module: t.Any = node
    return _config_converge.converge(module, node, str(node.root), environ=node.environ)


def verbs(node: Node) -> list[str]:
    """Return the verbs of the calls for cards, in order."""
    known = ("query", "set", "backup", "show_confs")
    return [("dry " if word == "set" and "-y" not in call else "") + word for call in node.calls for word in call if word in known]
