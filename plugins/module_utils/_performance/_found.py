# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node has around its adapters that makes them slower or faster. Pure; _record.py carries it to the controller."""

from __future__ import annotations

import typing as t

from .._facts._pcie_registers import Registers


class Interrupts(t.NamedTuple):
    """Where the interrupts of an adapter are served."""

    served: int = 0
    """How many a CPU serves now."""
    local: int = 0
    """How many of them CPUs of its NUMA node may serve."""
    near: str = ""
    """The CPUs of its NUMA node, such as `0-15,64-79`; all CPUs where the firmware does not tell the node."""
    cpu: str = ""
    """The one CPU that serves all of them; "" where there are several, or only one near."""


class Adapter(t.NamedTuple):
    """One PCI function of an adapter."""

    pci: str
    registers: t.Optional[Registers] = None
    """None where they can't be read, and for a virtual function."""
    payload_able: int = 0
    """Bytes of the largest packet that both the function and its slot support; 0 where they are not connected directly."""
    aspm: int = 0
    """The states that both ends of its link may enter."""
    root_port: str = ""
    """Vendor and device above it: `0x8086:0x6f02`."""
    iommu: str = ""
    """The type of its IOMMU domain: `identity`, `DMA`, `DMA-FQ`; "" without IOMMU, and for older kernels, which do not tell."""
    interrupts: Interrupts = Interrupts()


class Redirect(t.NamedTuple):
    """An adapter and a GPU below one PCI Express switch, whose access control redirects traffic between them to the root complex."""

    pci: str
    """The function of the adapter."""
    gpu: str
    bridges: t.Tuple[str, ...]


class Governor(t.NamedTuple):
    """What decides on the frequency of some CPUs."""

    name: str
    preference: str = ""
    """The energy performance preference of CPUs that choose the frequency themselves; "" for others."""


class Idle(t.NamedTuple):
    """The deepest state that CPU 0 may enter when it is idle."""

    name: str
    latency: int
    """Microseconds until it has left the state."""


class Found(t.NamedTuple):
    """Empty for a node without an adapter, and for virtual machines and containers, where most of it is the host's."""

    adapters: t.Tuple[Adapter, ...] = ()
    redirects: t.Tuple[Redirect, ...] = ()
    governors: t.Tuple[Governor, ...] = ()
    """Each once; none where the CPUs have no scaling of frequencies."""
    tuned: str = ""
    """The profile of TuneD; "" for none."""
    idle: t.Optional[Idle] = None
    numa_nodes: int = 0
    numa_balancing: int = 0
    """Bit 0 for the balancing between NUMA nodes; bit 1 for that between tiers of memory."""
    thp: str = ""
    """Transparent hugepages: `always`, `madvise` or `never`."""
    thp_defrag: str = ""
    """When an allocation waits for them: `always`, `defer`, `defer+madvise`, `madvise` or `never`."""
