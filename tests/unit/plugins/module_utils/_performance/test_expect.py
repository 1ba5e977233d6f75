# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What slows down an adapter, and what is said about it."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._facts._pcie_registers import L0S, L1, Registers
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Finding, Severity
from ansible_collections.rdma.ofed.plugins.module_utils._performance._expect import findings
from ansible_collections.rdma.ofed.plugins.module_utils._performance._found import Adapter, Found, Governor, Idle, Interrupts, Redirect

PCI = "0000:18:00.0"
REGISTERS = Registers(256, 512, 4096, relaxed_ordering=True, aspm=L0S | L1)
ADAPTER = Adapter(PCI, REGISTERS, 256, 0, "0x8086:0x347a", "identity", Interrupts(64, 30, "0-15"))
GOOD = Found(
    (ADAPTER,),
    governors=(Governor("performance", "performance"),),
    tuned="hpc-compute",
    idle=Idle("C1E", 4),
    numa_nodes=2,
    thp="always",
    thp_defrag="madvise",
)


def judged(found: Found, rate: float = 200, *, strict: bool = False) -> list[Finding]:
    return findings(found, {PCI: rate}, strict=strict)


def having(**changed: t.Any) -> Found:
    """Return the good node with this adapter."""
    return GOOD._replace(adapters=(ADAPTER._replace(**changed),))


def test_a_node_without_anything_to_say() -> None:
    assert judged(GOOD) == judged(Found()) == judged(Found((Adapter(PCI),))) == []
    # The adapters of other ports are not judged, and without any, neither is the node.
    assert findings(GOOD._replace(numa_balancing=1), {"0000:81:00.0": 200}, strict=True) == []


CASES: list[tuple[Found, str, str]] = [
    (having(registers=REGISTERS._replace(read_request=512)), "max_read_request", "adapter 0000:18:00.0 MaxReadReq: wanted 4096 bytes, found 512 bytes"),
    (having(registers=REGISTERS._replace(payload=128)), "max_payload", "MaxPayload: wanted 256 bytes, as adapter and slot support, found 128 bytes"),
    (having(registers=REGISTERS._replace(relaxed_ordering=False)), "relaxed_ordering_off", "relaxed ordering: wanted on, found off"),
    (having(aspm=L0S | L1), "aspm_on", "ASPM: wanted off, found L0s and L1"),
    (
        GOOD._replace(redirects=(Redirect(PCI, "0000:1a:00.0", ("0000:19:00.0", "0000:19:01.0")), Redirect(PCI, "0000:1b:00.0", ("0000:19:00.0",)))),
        "acs_redirects",
        "ACS: wanted a direct path to 0000:1a:00.0, 0000:1b:00.0, found redirection at 0000:19:00.0, 0000:19:01.0",
    ),
    (
        having(interrupts=Interrupts(64, 0, "0-15")),
        "interrupts_remote",
        "interrupts of adapter 0000:18:00.0: wanted interrupts on the CPUs 0-15, found 64 interrupts on other CPUs",
    ),
    (having(interrupts=Interrupts(64, 64, "0-15", "3")), "interrupts_on_one_cpu", "found all 64 on CPU 3"),
    (having(iommu="DMA-FQ"), "iommu_translates", "setting IOMMU: wanted identity, found DMA-FQ"),
    (
        GOOD._replace(governors=(Governor("performance"), Governor("powersave", "balance_power")), tuned="balanced"),
        "cpu_governor",
        "found powersave with balance_power (CPUs are slow after each pause; TuneD has set its profile balanced: ",
    ),
    (GOOD._replace(idle=Idle("C6", 170)), "cpu_idle_deep", "cpuidle: wanted no state that takes more than 50 us to leave, found C6, with 170 us"),
    (GOOD._replace(numa_balancing=3), "numa_balancing", "setting kernel.numa_balancing: wanted 0, found 3"),
    (GOOD._replace(thp_defrag="always"), "thp_defrag", "setting transparent_hugepage/defrag: wanted madvise, found always"),
]


@pytest.mark.parametrize(("found", "code", "words"), CASES, ids=[code for _found, code, _words in CASES])
def test_each_finding_and_its_words(found: Found, code: str, words: str) -> None:
    (finding,) = judged(found)
    assert (finding.code.value, finding.severity, finding.lasting) == (code, Severity.NOTICE, True)
    (line,) = _words.lines([finding])
    assert words in line and "{" not in line
    said = _words.result(finding)
    assert said["cause"] and said["next_step"], "the gain and the next step"
    (error,) = judged(found, strict=True)
    assert error == finding._replace(strict=True) and error.severity == Severity.ERROR


def test_commands_have_the_values() -> None:
    (finding,) = judged(having(registers=REGISTERS._replace(read_request=512)))
    assert "setpci -s 0000:18:00.0 CAP_EXP+8.w=5000:7000" in _words.result(finding)["next_step"]
    (finding,) = judged(having(registers=REGISTERS._replace(read_request=256)), 56)
    assert "setpci -s 0000:18:00.0 CAP_EXP+8.w=2000:7000" in _words.result(finding)["next_step"]


@pytest.mark.parametrize(
    ("found", "rate"),
    [
        # 512 bytes are enough for a slower port, and a reserved code tells nothing.
        (having(registers=REGISTERS._replace(read_request=512)), 56),
        (having(registers=REGISTERS._replace(read_request=0, payload=0)), 200),
        (having(registers=REGISTERS._replace(payload=128), payload_able=0), 200),
        # Root ports on which the kernel forbids relaxed ordering.
        *((having(registers=REGISTERS._replace(relaxed_ordering=False), root_port=port), 200) for port in ("0x8086:0x2f01", "0x8086:0x6f0e", "0x1022:0x1a02")),
        # Too few interrupts, an unknown NUMA node, and CPUs that are alone on theirs.
        (having(interrupts=Interrupts(3, 0, "0-15")), 200),
        (having(interrupts=Interrupts(64, 0, "")), 200),
        (having(iommu=""), 200),
        # CPUs that choose their frequency and prefer performance.
        (GOOD._replace(governors=(Governor("powersave", "performance"),)), 200),
        (GOOD._replace(governors=()), 200),
        (GOOD._replace(idle=Idle("C1E", 50)), 200),
        # One NUMA node; and the balancing between tiers of memory alone.
        (GOOD._replace(numa_balancing=1, numa_nodes=1), 200),
        (GOOD._replace(numa_balancing=2), 200),
        (GOOD._replace(thp="madvise", thp_defrag="always"), 200),
    ],
)
def test_what_is_not_certain_is_not_said(found: Found, rate: float) -> None:
    assert judged(found, rate) == []


def test_a_root_port_beside_those_with_errata() -> None:
    for port in ("0x8086:0x2f0f", "0x8086:0x6f00", "0x1022:0x2f01", ""):
        assert len(judged(having(registers=REGISTERS._replace(relaxed_ordering=False), root_port=port))) == 1
