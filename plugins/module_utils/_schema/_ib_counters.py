# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from plugins/modules/ib_counters.py. Edit there.

from __future__ import annotations

import typing as t

OPTIONS: dict[str, t.Any] = {
    "ports": {"type": "list", "elements": "int", "default": []},
    "interval": {"type": "float", "default": 0.0},
    "sample_file": {"type": "path", "default": ""},
    "thresholds": {"type": "dict", "default": {}},
    "links": {"type": "list", "elements": "dict", "default": []},
    "suppress": {
        "type": "list",
        "elements": "str",
        "choices": [
            "SymbolErrorCounter",
            "LinkErrorRecoveryCounter",
            "LinkDownedCounter",
            "PortRcvErrors",
            "PortRcvRemotePhysicalErrors",
            "PortRcvSwitchRelayErrors",
            "PortXmitDiscards",
            "PortXmitConstraintErrors",
            "PortRcvConstraintErrors",
            "LocalLinkIntegrityErrors",
            "ExcessiveBufferOverrunErrors",
            "QP1Dropped",
            "VL15Dropped",
            "PortXmitWait",
            "EffectiveBER",
        ],
        "default": ["PortRcvSwitchRelayErrors"],
    },
    "clear": {"type": "str", "choices": ["nothing", "errors", "all"], "default": "nothing"},
    "port": {"type": "str", "default": ""},
    "node_name_map": {"type": "path", "default": "/etc/rdma/ib-node-name-map"},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "guids": {"type": "list", "elements": "str", "default": []},
    "lids": {"type": "list", "elements": "int", "default": []},
}
