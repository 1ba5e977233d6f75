# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a node, as far as GPUDirect RDMA depends on it. Pure."""

from __future__ import annotations

import typing as t

from .._distro._registry import FAMILIES
from .._facts._gpu import UNIT, Gpu, from_facts
from .._host._units import Unit

PEERMEM = "nvidia_peermem"
LEGACY = "nv_peer_mem"
"""The module, its package and its init script."""


class Found(t.NamedTuple):
    gpu: Gpu = Gpu()
    kernel: str = ""
    """The release of the running kernel."""
    stack: str = "inbox"
    """The origin of the installed RDMA packages: `inbox`, `mlnx_ofed`, `doca` or `none`."""
    ofed_version: str = ""
    adapters: tuple[str, ...] = ()
    """Kernel drivers of the RDMA adapters; empty where they are unknown, or where no driver is loaded yet."""
    family: str = FAMILIES[0].name
    files: t.Mapping[str, str] = {}
    """The content of our files, by path."""
    unit: Unit = Unit(UNIT)
    service: Unit = Unit(LEGACY + ".service")
    service_enabled: bool = False
    """Whether nv_peer_mem is started at boot. It has an init script, so links tell."""
    systemd: bool = True
    enclosed: str = ""
    """`container` or `chroot`, where the node is one; else ""."""
    shows_clients: bool = False
    """Whether the loaded stack shows the clients that have registered with it."""
    missing_tools: tuple[str, ...] = ()
    """The missing packages that a build of nv_peer_mem needs."""
    packages: tuple[str, ...] = ()
    """The installed packages of nv_peer_mem, if they are ours."""

    def text(self, path: str) -> str:
        return self.files.get(path, "")

    @property
    def waits(self) -> bool:
        """Whether the loaded stack lacks peer memory, and that on disk has it."""
        memory = self.gpu.peer_memory
        return memory.core and not memory.loaded


def found_of(facts: t.Mapping[str, t.Any]) -> Found:
    """The node, from its `rdma` facts with the parts gpu and kernels. They contain neither the stack nor leftovers of earlier runs."""
    drivers = tuple(adapter["driver"] for adapter in facts.get("adapters") or () if adapter["driver"])
    return Found(from_facts(facts.get("gpu") or {}), str((facts.get("kernels") or {}).get("running", "")), adapters=drivers)
