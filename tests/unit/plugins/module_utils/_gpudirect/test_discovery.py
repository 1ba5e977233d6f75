# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Reading
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._discovery import read


def reading(*loaded: str) -> Reading:
    gpu: dict[str, t.Any] = {"devices": [{"pci": "0000:18:00.0"}], "peers": [{"name": name, "loaded": True} for name in loaded]}
    return read(Subject("node1", facts={"gpu": gpu}))


def test_the_module_that_is_loaded() -> None:
    (value,) = reading("nvidia_peermem").values
    assert (value.variable, value.value) == ("gpudirect_method", "nvidia_peermem")
    assert "both loaded" in reading("nvidia_peermem", "nv_peer_mem").dangers[0]


def test_no_module_and_no_gpu() -> None:
    assert reading().left[0].what == "GPUs (1)"
    assert read(Subject("node1")) == Reading((), [])
