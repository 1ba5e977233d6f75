# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what a node has around its adapters: files of sysfs and procfs only. The kernel's documentation is named where it defines a value."""

from __future__ import annotations

import os
import re
import sys
import typing as t

from .._facts import _pcie as pcie
from .._facts._gpu import read_devices, read_topology
from .._facts._machine import read_machine
from .._facts._pcie_registers import parse_registers
from .._facts._sysfs import PCI_ADDRESS, attribute, content, entries, pci_address
from .._facts._virtual import is_virtual
from .._foreign import decimal
from ._cpus import overlap, parse_cpus
from ._found import Adapter, Found, Governor, Idle, Interrupts, Redirect

_CPU = "sys/devices/system/cpu"
_HUGEPAGE = "sys/kernel/mm/transparent_hugepage"
_CHOSEN = re.compile(r"\[([a-z+]{1,20})\]")
_PROFILE = re.compile(r"[\w.+ -]{1,60}\Z", re.ASCII)
# The paths on which nothing but switches is between two functions.
_BELOW_SWITCHES = ("PIX", "PXB")


def look(functions: t.Iterable[str], root: str = "/") -> Found:
    """`functions`: the PCI addresses of the adapters."""
    known = sorted({function for function in functions if function})
    if not known or read_machine(root).kind != "host":
        return Found()
    return Found(
        adapters=tuple(read_adapter(root, function) for function in known),
        redirects=read_redirects(root, known),
        governors=read_governors(root),
        tuned=_profile(attribute(root, "etc/tuned/active_profile")),
        idle=read_idle(root),
        numa_nodes=sum(name.startswith("node") and decimal(name[4:]) is not None for name in entries(root, "sys/devices/system/node")),
        numa_balancing=decimal(attribute(root, "proc/sys/kernel/numa_balancing"), 0),
        thp=chosen(attribute(root, _HUGEPAGE, "enabled")),
        thp_defrag=chosen(attribute(root, _HUGEPAGE, "defrag")),
    )


def chosen(text: str) -> str:
    """`always [madvise] never` -> `madvise`; "" for anything else. Documentation/admin-guide/mm/transhuge.rst."""
    match = _CHOSEN.search(text)
    return match.group(1) if match else ""


def _profile(text: str) -> str:
    return text if _PROFILE.match(text) else ""


def read_adapter(root: str, pci: str) -> Adapter:
    """One function. Where it is directly below a root port, that is the port of its slot."""
    # Those of a virtual function are zero by the specification: the ones of its physical function count.
    registers = None if is_virtual(root, pci) else parse_registers(content(root, pcie.DEVICES, pci, "config"))
    bridges = [name for name in pcie.read_chain(root, pci)[:-1] if PCI_ADDRESS.match(name)]
    above = parse_registers(content(root, pcie.DEVICES, bridges[-1], "config")) if bridges else None
    ids = (attribute(root, pcie.DEVICES, bridges[0], name) for name in ("vendor", "device")) if bridges else ()
    return Adapter(
        pci,
        registers,
        # Below a switch, other functions may support less.
        payload_able=min(registers.payload_able, above.payload_able) if registers and above and len(bridges) == 1 else 0,
        aspm=registers.aspm & above.aspm if registers and above else 0,
        root_port=":".join(ids),
        # Documentation/ABI/testing/sysfs-kernel-iommu_groups.
        iommu=attribute(root, pcie.DEVICES, pci, "iommu_group/type"),
        interrupts=read_interrupts(root, pci),
    )


def read_interrupts(root: str, pci: str) -> Interrupts:
    """The interrupts of a function. Documentation/core-api/irq/irq-affinity.rst; kernels before 4.15 tell only which CPUs may serve them."""
    near = attribute(root, pcie.DEVICES, pci, "local_cpulist")
    places = []
    for number in entries(root, pcie.DEVICES, pci, "msi_irqs"):
        base = os.path.join(root, "proc/irq", number)
        places.append(parse_cpus(attribute(base, "effective_affinity_list") or attribute(base, "smp_affinity_list")))
    served = [place for place in places if place]
    own = parse_cpus(near)
    alone = len(set(served)) == 1 and served[0][0][0] == served[0][-1][1] and own != served[0]
    return Interrupts(len(served), sum(overlap(place, own) for place in served), near if own else "", str(served[0][0][0]) if alone else "")


def read_redirects(root: str, functions: t.Collection[str]) -> tuple[Redirect, ...]:
    """The adapters and GPUs below one switch with bridges that redirect their traffic."""
    found = []
    for path in read_topology(root, read_devices(root)):
        pci = pci_address(root, "sys/class/infiniband", path.hca, "device")
        if path.acs and path.path in _BELOW_SWITCHES and pci in functions:
            found.append(Redirect(pci, path.gpu, path.acs))
    return tuple(found)


def read_governors(root: str) -> tuple[Governor, ...]:
    """The governors of all CPUs. Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst."""
    found = set()
    for policy in entries(root, _CPU, "cpufreq"):
        name = attribute(root, _CPU, "cpufreq", policy, "scaling_governor")
        if policy.startswith("policy") and name:
            found.add(Governor(name, attribute(root, _CPU, "cpufreq", policy, "energy_performance_preference")))
    return tuple(sorted(found))


def _most_latency(root: str) -> int | None:
    """The microseconds that a CPU may take to wake up; None for no limit. Documentation/power/pm_qos_interface.rst.

    What reads /dev/cpu_dma_latency changes nothing: it states no requirement.
    """
    limits = []
    value = content(root, "dev/cpu_dma_latency")
    if len(value) == 4:
        limits.append(int.from_bytes(value, sys.byteorder, signed=True))
    own = attribute(root, _CPU, "cpu0/power/pm_qos_resume_latency_us")
    # The kernel shows 0 for no requirement.
    limits += [0] if own == "n/a" else [number for number in [decimal(own, 0)] if number]
    return min(limits, default=None)


def read_idle(root: str) -> Idle | None:
    """The deepest state that CPU 0 may enter; None without such states. Documentation/admin-guide/pm/cpuidle.rst."""
    most, found = _most_latency(root), []
    for state in entries(root, _CPU, "cpu0/cpuidle"):
        base = os.path.join(root, _CPU, "cpu0/cpuidle", state)
        latency = decimal(attribute(base, "latency"))
        if latency is not None and attribute(base, "disable") == "0" and (most is None or latency <= most):
            found.append(Idle(attribute(base, "name"), latency))
    return max(found, key=lambda idle: idle.latency, default=None)
