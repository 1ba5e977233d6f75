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
"""The module, and its package and init script."""


class Found(t.NamedTuple):
    gpu: Gpu = Gpu()
    kernel: str = ""
    """The release of the running one."""
    stack: str = "inbox"
    """Whose RDMA packages are installed: `inbox`, `mlnx_ofed`, `doca` or `none`."""
    ofed_version: str = ""
    adapters: tuple[str, ...] = ()
    """Kernel drivers of the adapters that can do RDMA; empty where they are unknown, or no driver is loaded yet."""
    family: str = FAMILIES[0].name
    files: t.Mapping[str, str] = {}
    """The content of our files, by path."""
    unit: Unit = Unit(UNIT)
    service: Unit = Unit(LEGACY + ".service")
    service_enabled: bool = False
    """Whether nv_peer_mem is started at boot. It has an init script, so links tell."""
    systemd: bool = True
    enclosed: str = ""
    """`container` or `chroot`, where it is one."""
    shows_clients: bool = False
    """Whether the loaded stack shows who has registered with it."""
    missing_tools: tuple[str, ...] = ()
    """The packages that a build of nv_peer_mem needs and that are not installed."""
    packages: tuple[str, ...] = ()
    """Those of nv_peer_mem that are installed, where they are ours."""

    def text(self, path: str) -> str:
        return self.files.get(path, "")

    @property
    def waits(self) -> bool:
        """Whether the loaded stack has no peer memory, while that on disk has it."""
        memory = self.gpu.peer_memory
        return memory.core and not memory.loaded


def found_of(facts: t.Mapping[str, t.Any]) -> Found:
    """The node as its `rdma` facts with the parts gpu and kernels tell it. They do not tell its stack, nor what earlier runs left."""
    drivers = tuple(adapter["driver"] for adapter in facts.get("adapters") or () if adapter["driver"])
    return Found(from_facts(facts.get("gpu") or {}), str((facts.get("kernels") or {}).get("running", "")), adapters=drivers)
