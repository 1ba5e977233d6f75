# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/soft_rdma/meta/argument_specs.yml and plugins/modules/soft_rdma.py. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "soft_rdma_state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "soft_rdma_links": {"type": "list", "default": []},
}

OPTIONS: dict[str, t.Any] = {
    "links": {"type": "list", "elements": "raw", "default": []},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "image": {"type": "bool", "default": False},
}
