# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/node_service/meta/argument_specs.yml. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "node_service_purpose": {"type": "str", "default": "firmware"},
    "node_service_when": {"type": "str", "choices": ["before", "after"]},
    "node_service_batch": {"type": "dict"},
}
