# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from roles/gpudirect/meta/argument_specs.yml and plugins/modules/gpudirect.py. Edit there.

from __future__ import annotations

import typing as t

VARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "gpudirect_state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "gpudirect_method": {"type": "str", "choices": ["none", "auto", "nvidia_peermem", "nv_peer_mem", "dmabuf"], "default": "none"},
    "gpudirect_peerdirect_support": {"type": "str", "choices": ["auto", "0", "1"], "default": "auto"},
    "gpudirect_allow_rebuild": {"type": "bool", "default": False},
    "gpudirect_source": {"type": "str", "default": "https://github.com/Mellanox/nv_peer_memory.git"},
    "gpudirect_commit": {"type": "str", "default": "d9a0a126bc31279e63e4b47bfb59ee767cea7aad"},
    "gpudirect_checksum": {"type": "str", "default": ""},
    "gpudirect_timeout": {"type": "int", "default": 3600},
}

OPTIONS: dict[str, t.Any] = {
    "method": {"type": "str", "choices": ["auto", "nvidia_peermem", "nv_peer_mem", "dmabuf"], "default": "auto"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "peerdirect_support": {"type": "str", "choices": ["auto", "0", "1"], "default": "auto"},
    "allow_rebuild": {"type": "bool", "default": False},
    "allow_container": {"type": "bool", "default": False},
    "source": {"type": "str", "default": "https://github.com/Mellanox/nv_peer_memory.git"},
    "commit": {"type": "str", "default": "d9a0a126bc31279e63e4b47bfb59ee767cea7aad"},
    "checksum": {"type": "str", "default": ""},
    "timeout": {"type": "int", "default": 3600},
    "assume_stack": {"type": "str", "choices": ["found", "installed", "loaded", "removed", "unloaded"], "default": "found"},
    "assume_ofed_version": {"type": "str", "default": ""},
    "stack_outcome": {"type": "dict", "default": {}},
}
