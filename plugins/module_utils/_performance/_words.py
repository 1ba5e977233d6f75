# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words for what slows down an adapter, for people. Pure."""

from __future__ import annotations

import typing as t

from .._finding import Code, Form

_INTERRUPTS = "start irqbalance, or place them with set_irq_affinity.sh of the vendor's stack"

FORMS: t.Mapping[Code, Form] = {
    Code.MAX_READ_REQUEST: Form(
        "{found} bytes",
        "{wanted} bytes",
        "the adapter needs more requests to read the same data from memory, which can limit large messages",
        "'setpci -s {subject} CAP_EXP+8.w={detail}:7000' sets it until the next boot",
    ),
    Code.MAX_PAYLOAD: Form(
        "{found} bytes",
        "{wanted} bytes, as adapter and slot support",
        "more of the link is spent on headers",
        "see the maximum payload in the firmware setup, or boot with pci=pcie_bus_safe",
    ),
    Code.RELAXED_ORDERING_OFF: Form(
        cause="packets can't overtake each other, which can limit the bandwidth to memory and to GPUs",
        next_step="enable relaxed ordering of PCI Express in the firmware setup",
    ),
    Code.ASPM_ON: Form(
        cause="an idle link saves power, and the next message waits until it is awake",
        next_step="boot with pcie_aspm.policy=performance, or disable ASPM in the firmware setup",
    ),
    Code.ACS_REDIRECTS: Form(
        "redirection at {found}",
        "a direct path to {wanted}",
        "traffic with a GPU below the same switch takes the way over the root complex",
        "where no virtual machine is given adapter or GPU, disable ACS in the firmware setup, or run 'setpci -s {detail} ECAP_ACS+6.w=0:c', "
        "for each bridge and after each boot",
    ),
    Code.INTERRUPTS_REMOTE: Form("{found} interrupts on other CPUs", "interrupts on the CPUs {wanted}", "CPUs of another NUMA node serve them", _INTERRUPTS),
    Code.INTERRUPTS_ON_ONE_CPU: Form("all {found} on CPU {detail}", "interrupts on the CPUs {wanted}", "one CPU limits IPoIB and storage", _INTERRUPTS),
    Code.IOMMU_TRANSLATES: Form(
        cause="each access of an adapter to memory is translated, and GPUDirect RDMA needs untranslated access",
        next_step="where the site does not confine devices with it, boot with iommu=pt (iommu.passthrough=1 on Arm)",
    ),
    Code.CPU_GOVERNOR: Form(
        cause="CPUs are slow after each pause{detail}",
        next_step="choose a profile of TuneD such as hpc-compute, or run 'cpupower frequency-set -g performance'",
    ),
    Code.CPU_IDLE_DEEP: Form(
        "{detail}, with {found} us",
        "no state that takes more than {wanted} us to leave",
        "an idle CPU serves an interrupt that much later; jobs that poll do not notice",
        "choose a profile of TuneD such as hpc-compute, or boot with processor.max_cstate=1, on Intel also intel_idle.max_cstate=1",
    ),
    Code.NUMA_BALANCING: Form(
        cause="jobs are interrupted to sample their memory, which does not help where they are bound to NUMA nodes",
        next_step="'sysctl -w kernel.numa_balancing=0', and a file in /etc/sysctl.d",
    ),
    Code.THP_DEFRAG: Form(
        cause="a job that allocates memory stalls while the kernel compacts it",
        next_step="'echo madvise > /sys/kernel/mm/transparent_hugepage/defrag', and the same at boot",
    ),
}
