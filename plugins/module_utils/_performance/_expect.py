# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What slows down an adapter that is otherwise as it should be. Pure.

Each threshold has a public source:

- Read requests of 4096 bytes: NVIDIA Network Operator, "Configuration Details" (`pciPerformanceOptimized`). Without them, 512 bytes are usual.
- Payload: kernel-parameters.txt, `pci=pcie_bus_safe`. Relaxed ordering: drivers/pci/quirks.c, for the root ports on which it must be off.
- IOMMU and access control: GPUDirect RDMA of the CUDA Toolkit, and "Troubleshooting" of NCCL.
- Governor and idle states: TuneD's profile latency-performance, which hpc-compute extends.
- NUMA balancing: Documentation/admin-guide/sysctl/kernel.rst. Hugepages: Documentation/admin-guide/mm/transhuge.rst.

What vendors disagree on is no finding: vm.zone_reclaim_mode, the number of reserved hugepages, and whether transparent hugepages are used.
"""

from __future__ import annotations

import typing as t

from .._facts._pcie_registers import L0S, L1
from .._finding import Code, Finding, Topic

if t.TYPE_CHECKING:
    from ._found import Adapter, Found

# Gb/s from which a port needs large read requests, and the bytes of these above and below.
_FAST, _LARGE, _SMALL = 100, 4096, 512
# What sets them in the control register, by bytes.
_READ_CODES: t.Mapping[int, str] = {_LARGE: "5000", _SMALL: "2000"}
# Vendors, with the first and last device of root ports on which the kernel forbids relaxed ordering because of errata.
_UNORDERED = (("0x8086", 0x6F01, 0x6F0E), ("0x8086", 0x2F01, 0x2F0E), ("0x1022", 0x1A00, 0x1A02))
# One interrupt for events, and some for completions.
_FEWEST = 4
# Microseconds. A message takes one or two; shallow states take up to about ten.
_MOST_LATENCY = 50
_PERFORMANCE = "performance"


def findings(found: Found, rates: t.Mapping[str, float], *, strict: bool) -> list[Finding]:
    """The findings for a node. `rates`: the Gb/s of the judged adapters, by PCI address. `strict`: whether they are errors."""
    judged = [adapter for adapter in found.adapters if adapter.pci in rates]
    if not judged:
        return []
    result = [finding for each in judged for finding in (*_express(each, rates[each.pci]), *_redirects(each, found), *_interrupts(each))]
    result += [*_iommu(judged), *_cpus(found), *_memory(found)]
    return [finding._replace(strict=strict) for finding in result]


def _express(adapter: Adapter, rate: float) -> t.Iterator[Finding]:
    registers = adapter.registers
    if registers is None:
        return
    least = _LARGE if rate >= _FAST else _SMALL
    if 0 < registers.read_request < least:
        yield Finding(Code.MAX_READ_REQUEST, Topic.ADAPTER, adapter.pci, "MaxReadReq", str(least), str(registers.read_request), _READ_CODES[least])
    if 0 < registers.payload < adapter.payload_able:
        yield Finding(Code.MAX_PAYLOAD, Topic.ADAPTER, adapter.pci, "MaxPayload", str(adapter.payload_able), str(registers.payload))
    if not registers.relaxed_ordering and not _unordered(adapter.root_port):
        yield Finding(Code.RELAXED_ORDERING_OFF, Topic.ADAPTER, adapter.pci, "relaxed ordering", "on", "off")
    if adapter.aspm:
        states = [name for state, name in ((L0S, "L0s"), (L1, "L1")) if adapter.aspm & state]
        yield Finding(Code.ASPM_ON, Topic.ADAPTER, adapter.pci, "ASPM", "off", " and ".join(states))


def _unordered(root_port: str) -> bool:
    vendor, _colon, device = root_port.partition(":")
    return any(vendor == known and "0x%04x" % first <= device <= "0x%04x" % last for known, first, last in _UNORDERED)


def _redirects(adapter: Adapter, found: Found) -> t.Iterator[Finding]:
    own = [each for each in found.redirects if each.pci == adapter.pci]
    if own:
        bridges = sorted({bridge for each in own for bridge in each.bridges})
        gpus = sorted({each.gpu for each in own})
        yield Finding(Code.ACS_REDIRECTS, Topic.ADAPTER, adapter.pci, "ACS", ", ".join(gpus), ", ".join(bridges), bridges[0])


def _interrupts(adapter: Adapter) -> t.Iterator[Finding]:
    placed = adapter.interrupts
    if placed.served < _FEWEST:
        return
    if placed.near and not placed.local:
        yield Finding(Code.INTERRUPTS_REMOTE, Topic.INTERRUPTS, adapter.pci, "", placed.near, str(placed.served))
    elif placed.near and placed.cpu:
        yield Finding(Code.INTERRUPTS_ON_ONE_CPU, Topic.INTERRUPTS, adapter.pci, "", placed.near, str(placed.served), placed.cpu)


def _iommu(adapters: t.Sequence[Adapter]) -> list[Finding]:
    kinds = sorted({adapter.iommu for adapter in adapters if adapter.iommu.startswith("DMA")})
    return [Finding(Code.IOMMU_TRANSLATES, Topic.SETTING, "IOMMU", "", "identity", ", ".join(kinds))] if kinds else []


def _cpus(found: Found) -> t.Iterator[Finding]:
    slow = [each for each in found.governors if _PERFORMANCE not in (each.name, each.preference)]
    if slow:
        words = ", ".join(each.name + (" with %s" % each.preference if each.preference else "") for each in slow)
        yield Finding(Code.CPU_GOVERNOR, Topic.SETTING, "scaling_governor", "", _PERFORMANCE, words, found.tuned)
    if found.idle is not None and found.idle.latency > _MOST_LATENCY:
        yield Finding(Code.CPU_IDLE_DEEP, Topic.SETTING, "cpuidle", "", str(_MOST_LATENCY), str(found.idle.latency), found.idle.name)


def _memory(found: Found) -> t.Iterator[Finding]:
    if found.numa_nodes > 1 and found.numa_balancing & 1:
        yield Finding(Code.NUMA_BALANCING, Topic.SETTING, "kernel.numa_balancing", "", "0", str(found.numa_balancing))
    if (found.thp, found.thp_defrag) == ("always", "always"):
        yield Finding(Code.THP_DEFRAG, Topic.SETTING, "transparent_hugepage/defrag", "", "madvise", found.thp_defrag)
