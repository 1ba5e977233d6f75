# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the check of a node says about the way to GPU memory."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import Device, Gpu, Peer, PeerMemory
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu_driver import Driver
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._unit import UNIT
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._verify import findings
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit

PEER = Peer("nvidia_peermem", "nvidia_peermem", linked=True, loaded=True)
GPU = Gpu((Device("0000:81:00.0"),), Driver("535.104.05", "proprietary", True), (PEER,), PeerMemory("ib_core", "ib_core", True), ("nv_mem",))
GOOD = Found(GPU, "6.1.0-50-amd64", "mlnx_ofed", unit=Unit(UNIT, enabled="enabled"), shows_clients=True)


def words(method: str, found: Found, **gpu: t.Any) -> list[str]:
    return ["%s: %s, %s (%s)" % finding for finding in findings(method, found._replace(gpu=found.gpu._replace(**gpu)))]


@pytest.mark.parametrize("method", ["auto", "nvidia_peermem"])
def test_a_good_node(method: str) -> None:
    assert words(method, GOOD) == []
    # Not every release shows who has registered.
    assert words(method, GOOD._replace(shows_clients=False), clients=()) == []
    assert findings(method, Found()) == []


def test_each_deviation() -> None:
    unloaded = (PEER._replace(loaded=False),)
    assert words("auto", GOOD, peers=unloaded) == ["kernel module nvidia_peermem: loaded, not loaded (the role gpudirect does that)"]
    assert words("auto", GOOD._replace(unit=Unit(UNIT))) == ["kernel module nvidia_peermem: loaded at boot, not enabled (the role gpudirect does that)"]
    registered = "peer memory: nv_mem registered with the RDMA stack, nobody (the module is loaded: see the kernel log)"
    assert words("auto", GOOD, clients=()) == [registered]
    (refused,) = words("dmabuf", GOOD)
    assert refused.startswith("GPU memory: within reach of the adapters (dmabuf), out of reach (GPU driver 535.104.05 has the proprietary")


def test_what_waits_for_the_installed_stack_is_no_deviation() -> None:
    assert words("auto", GOOD, peers=(PEER._replace(loaded=False),), peer_memory=PeerMemory("ib_core", "", True)) == []


def test_nv_peer_mem_is_not_missed_before_it_can_be_built() -> None:
    old = Driver("460.91.03", "proprietary", True)
    assert words("auto", GOOD, driver=old, peers=(), peer_memory=PeerMemory("ib_core", "", True)) == []
    assert len(words("auto", GOOD, driver=old, peers=())) == 2


def test_dmabuf_needs_nothing() -> None:
    assert words("dmabuf", GOOD, driver=Driver("535.104.05", "open", True), peers=()) == []
