# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The subnet manager of a fabric in the form that the role opensm passes."""

from __future__ import annotations

import typing as t

INSTANCE: t.Dict[str, t.Any] = {
    "fabric": "ib",
    "role": "master",
    "priority": 14,
    "port": None,
    "port_guid": None,
    "subnet_prefix": "0xfe80000000000000",
    "log_file": None,
    "designated_host": None,
    "peer_guids": [],
    "other_guids": [],
}
