# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings of the node check about the path to GPU memory."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._check._expect import findings
from ansible_collections.rdma.ofed.plugins.module_utils._check._found import Found as Node
from ansible_collections.rdma.ofed.plugins.module_utils._check._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import UNIT, UNIT_PATH, Device, Gpu, Peer, PeerMemory
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu_driver import Driver
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._plan import UNIT_TEXT
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._wanted import Wanted as WantedGpus
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from support.expected import having, wanting

PEER = Peer("nvidia_peermem", "nvidia_peermem", linked=True, loaded=True)
GPU = Gpu((Device("0000:81:00.0"),), Driver("535.104.05", "proprietary", True), (PEER,), PeerMemory("ib_core", "ib_core", True), ("nv_mem",))
GOOD = Found(
    GPU,
    "6.1.0-50-amd64",
    "mlnx_ofed",
    files={UNIT_PATH: UNIT_TEXT.format(file="nvidia_peermem")},
    unit=Unit(UNIT, enabled="enabled", active="active"),
    shows_clients=True,
)


def words(method: str, found: Found, **gpu: t.Any) -> list[str]:
    wanted = wanting(Wanted(subnet_manager=False), gpudirect=WantedGpus(method))
    return _words.lines(findings(wanted, having(Node(), gpudirect=found._replace(gpu=found.gpu._replace(**gpu)))))


@pytest.mark.parametrize("method", ["auto", "nvidia_peermem"])
def test_a_good_node(method: str) -> None:
    assert words(method, GOOD) == []
    # Some releases do not show the registered clients.
    assert words(method, GOOD._replace(shows_clients=False), clients=()) == []
    assert words(method, Found()) == []


def test_each_deviation() -> None:
    unloaded = (PEER._replace(loaded=False),)
    assert words("auto", GOOD, peers=unloaded) == ["kernel module nvidia_peermem: wanted loaded, found not loaded (run rdma.ofed.site)"]
    assert words("auto", GOOD._replace(unit=GOOD.unit._replace(enabled=""))) == ["service %s enabled: wanted yes, found no (run rdma.ofed.site)" % UNIT]
    assert words("auto", GOOD._replace(files={})) == ["file %s: wanted as declared, found none (run rdma.ofed.site)" % UNIT_PATH]
    registered = "GPU memory: wanted nv_mem registered with the RDMA stack, found none (the module is loaded: see the kernel log)"
    assert words("auto", GOOD, clients=()) == [registered]
    (refused,) = words("dmabuf", GOOD)
    assert refused.startswith("GPU memory: wanted within reach of the adapters (dmabuf), found out of reach (GPU driver 535.104.05 has the proprietary")


def test_what_waits_for_the_installed_stack_is_no_deviation() -> None:
    assert words("auto", GOOD, peers=(PEER._replace(loaded=False),), peer_memory=PeerMemory("ib_core", "", True)) == []


def test_nv_peer_mem_is_not_missed_before_it_can_be_built() -> None:
    old = Driver("460.91.03", "proprietary", True)
    bare = GOOD._replace(files={}, unit=Unit(UNIT))
    assert words("auto", bare, driver=old, peers=(), peer_memory=PeerMemory("ib_core", "", True)) == []
    assert len(words("auto", bare, driver=old, peers=())) == 4


def test_dmabuf_needs_nothing() -> None:
    bare = GOOD._replace(files={}, unit=Unit(UNIT))
    assert words("dmabuf", bare, driver=Driver("535.104.05", "open", True), peers=()) == []
