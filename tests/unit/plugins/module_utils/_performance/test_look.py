# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading what is around the adapters of a node: a tree of files."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._pcie_registers import L1
from ansible_collections.rdma.ofed.plugins.module_utils._performance._cpus import overlap, parse_cpus
from ansible_collections.rdma.ofed.plugins.module_utils._performance._found import Adapter, Found, Governor, Idle, Interrupts, Redirect
from ansible_collections.rdma.ofed.plugins.module_utils._performance._look import chosen, look
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes
from support.pci_spaces import USUAL, express

HCA, PORT = "0000:18:00.0", "0000:17:00.0"
BASE = "sys/devices/pci0000:17/%s" % PORT
FUNCTION = "%s/%s" % (BASE, HCA)
CPU = "sys/devices/system/cpu"


def host(**changed: t.Any) -> nodes.Tree:
    """Return a bare-metal host of two NUMA nodes, as its firmware and distribution have set it up. Changes replace values by path; None removes a file."""
    tree: nodes.Tree = {
        # Without it, the tree would be that of a chroot.
        "proc/1/root": nodes.Link("/."),
        "proc/cpuinfo": "flags\t\t: fpu vme aperfmperf\n",
        "sys/bus/pci/devices/" + HCA: nodes.Link("/" + FUNCTION),
        "sys/bus/pci/devices/" + PORT: nodes.Link("/" + BASE),
        "sys/class/infiniband/mlx5_0/device": nodes.Link("/" + FUNCTION),
        FUNCTION + "/config": express(USUAL, link=0x42),
        FUNCTION + "/local_cpulist": "0-15,32-47\n",
        FUNCTION + "/iommu_group": nodes.Link("/sys/kernel/iommu_groups/5"),
        "sys/kernel/iommu_groups/5/type": "DMA-FQ\n",
        BASE + "/config": express(USUAL, link=0x42, able=1),
        BASE + "/vendor": "0x8086\n",
        BASE + "/device": "0x347a\n",
        "sys/devices/system/node/node0/cpulist": "0-15,32-47\n",
        "sys/devices/system/node/node1/cpulist": "16-31,48-63\n",
        "sys/devices/system/node/has_cpu": "0-1\n",
        "proc/sys/kernel/numa_balancing": "1\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
        "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
        "etc/tuned/active_profile": "balanced\n",
        CPU + "/cpu0/power/pm_qos_resume_latency_us": "0\n",
        "dev/cpu_dma_latency": (2_000_000_000).to_bytes(4, "little"),
    }
    for number, place in enumerate(("16", "17", "48-49", "")):
        tree["%s/msi_irqs/%d" % (FUNCTION, 100 + number)] = "msix\n"
        tree["proc/irq/%d/effective_affinity_list" % (100 + number)] = place + "\n"
    for number, (name, latency) in enumerate((("POLL", 0), ("C1", 1), ("C1E", 4), ("C6", 170))):
        state = "%s/cpu0/cpuidle/state%d" % (CPU, number)
        tree.update({state + "/name": name + "\n", state + "/latency": "%d\n" % latency, state + "/disable": "0\n"})
    for number in range(2):
        tree["%s/cpufreq/policy%d/scaling_governor" % (CPU, number)] = "powersave\n"
        tree["%s/cpufreq/policy%d/energy_performance_preference" % (CPU, number)] = "balance_performance\n"
    return {path: value for path, value in {**tree, **changed}.items() if value is not None}


def seen(root: pathlib.Path, **changed: t.Any) -> Found:
    """Look at such a host. What was found is carried to the controller."""
    found = look([HCA], nodes.write(root, host(**changed)))
    assert decode(Found, encode(found)) == found
    return found


def test_a_host(tmp_path: pathlib.Path) -> None:
    found = seen(tmp_path)
    (adapter,) = found.adapters
    assert adapter.registers is not None and (adapter.registers.read_request, adapter.registers.payload_able) == (512, 512)
    assert (adapter.payload_able, adapter.aspm, adapter.root_port, adapter.iommu) == (256, L1, "0x8086:0x347a", "DMA-FQ")
    assert adapter.interrupts == Interrupts(3, 0, "0-15,32-47")
    assert found._replace(adapters=()) == Found(
        governors=(Governor("powersave", "balance_performance"),),
        tuned="balanced",
        idle=Idle("C6", 170),
        numa_nodes=2,
        numa_balancing=1,
        thp="always",
        thp_defrag="madvise",
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"proc/1/environ": "container=lxc\0"},
        {"proc/cpuinfo": "flags\t\t: fpu hypervisor\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"},
        {"proc/1/root": nodes.Link("/proc")},
    ],
    ids=["container", "virtual machine", "chroot"],
)
def test_what_belongs_to_another_host_is_not_read(tmp_path: pathlib.Path, changed: dict[str, t.Any]) -> None:
    assert seen(tmp_path, **changed) == Found()


def test_a_host_without_adapter(tmp_path: pathlib.Path) -> None:
    assert look(["", ""], nodes.write(tmp_path, host())) == Found()


def test_a_host_that_tells_nothing(tmp_path: pathlib.Path) -> None:
    root = nodes.write(tmp_path, {"proc/1/root": nodes.Link("/."), "sys/kernel/mm/x": "", "etc/tuned/active_profile": "{{ 1 }}\n"})
    assert look([HCA], root) == Found((Adapter(HCA),))


@pytest.mark.parametrize(
    ("changed", "state"),
    [
        ({"dev/cpu_dma_latency": (2).to_bytes(4, "little")}, "C1"),
        ({"dev/cpu_dma_latency": (0).to_bytes(4, "little")}, "POLL"),
        ({CPU + "/cpu0/power/pm_qos_resume_latency_us": "n/a\n"}, "POLL"),
        ({CPU + "/cpu0/power/pm_qos_resume_latency_us": "10\n"}, "C1E"),
        ({CPU + "/cpu0/cpuidle/state3/disable": "1\n"}, "C1E"),
        ({"dev/cpu_dma_latency": None}, "C6"),
        ({"dev/cpu_dma_latency": b"1"}, "C6"),
    ],
)
def test_limits_of_idle_states(tmp_path: pathlib.Path, changed: dict[str, t.Any], state: str) -> None:
    """Programs that need quick CPUs, such as TuneD, limit how deeply these may sleep."""
    idle = seen(tmp_path, **changed).idle
    assert idle is not None and idle.name == state


@pytest.mark.parametrize(
    ("places", "found"),
    [
        (("0", "1", "2", "3"), Interrupts(4, 4, "0-15,32-47")),
        (("16", "16", "16", "16"), Interrupts(4, 0, "0-15,32-47", "16")),
        (("0", "0", "0", "0"), Interrupts(4, 4, "0-15,32-47", "0")),
        # A mask of several CPUs, in a kernel that does not tell which of them.
        (("0-63", "0-63", "0-63", "0-63"), Interrupts(4, 4, "0-15,32-47")),
    ],
)
def test_places_of_interrupts(tmp_path: pathlib.Path, places: tuple[str, ...], found: Interrupts) -> None:
    changed: dict[str, t.Any] = {}
    for number, place in enumerate(places, 100):
        changed.update({"proc/irq/%d/effective_affinity_list" % number: None, "proc/irq/%d/smp_affinity_list" % number: place + "\n"})
    assert seen(tmp_path, **changed).adapters[0].interrupts == found


def test_registers_of_a_virtual_function_are_not_read(tmp_path: pathlib.Path) -> None:
    """By the specification, its device control is zero: as if the smallest read requests and no relaxed ordering were set."""
    (adapter,) = seen(tmp_path, **{FUNCTION + "/physfn": nodes.Link("../0000:18:00.1"), FUNCTION + "/config": express(0, link=0)}).adapters
    assert (adapter.registers, adapter.payload_able, adapter.aspm) == (None, 0, 0)
    assert adapter.interrupts.served == 3


def test_the_payload_below_a_switch_is_not_judged(tmp_path: pathlib.Path) -> None:
    """Other functions below it may support less."""
    inner = BASE + "/0000:18:00.0/0000:19:00.0/0000:1a:00.0"
    tree = host()
    spaces = {"%s/config" % path: express(USUAL) for path in (inner, inner.rpartition("/")[0])}
    links = {"sys/bus/pci/devices/" + path.rpartition("/")[2]: nodes.Link("/" + path) for path in (inner, inner.rpartition("/")[0])}
    found = look(["0000:1a:00.0"], nodes.write(tmp_path, {**tree, **spaces, **links}))
    assert (found.adapters[0].payload_able, found.adapters[0].root_port) == (0, "0x8086:0x347a")


def test_access_control_between_an_adapter_and_a_gpu(tmp_path: pathlib.Path) -> None:
    switch = "sys/devices/pci0000:40/0000:40:00.0/0000:41:00.0"
    hca, gpu = switch + "/0000:42:00.0/0000:43:00.0", switch + "/0000:42:01.0/0000:44:00.0"
    redirecting = bytearray(4096)
    redirecting[0x100:0x108] = b"\x0d\0\x01\0\0\0\x1d\0"
    tree: nodes.Tree = {
        "proc/1/root": nodes.Link("/."),
        hca + "/vendor": "0x15b3\n",
        gpu + "/vendor": "0x10de\n",
        gpu + "/class": "0x030200\n",
        switch + "/0000:42:01.0/config": bytes(redirecting),
        "sys/class/infiniband/mlx5_0/device": nodes.Link("/" + hca),
        **{"sys/bus/pci/devices/" + path.rpartition("/")[2]: nodes.Link("/" + path) for path in (hca, gpu, switch + "/0000:42:01.0")},
    }
    root = nodes.write(tmp_path, tree)
    assert look(["0000:43:00.0"], root).redirects == (Redirect("0000:43:00.0", "0000:44:00.0", ("0000:42:01.0",)),)
    assert look(["0000:99:00.0"], root).redirects == ()


def test_lists_of_cpus() -> None:
    assert parse_cpus("0-15,64") == ((0, 15), (64, 64))
    assert parse_cpus("") == parse_cpus("0-") == parse_cpus("7-3") == parse_cpus("0-15,x") == parse_cpus("99999999") == ()
    assert overlap(parse_cpus("0-15,64"), parse_cpus("15-20")) and not overlap(parse_cpus("0-15,64"), parse_cpus("16-63"))
    assert not overlap((), parse_cpus("0"))


def test_choices() -> None:
    assert chosen("always defer [defer+madvise] madvise never") == "defer+madvise"
    assert chosen("[{{ 1 }}]") == chosen("always") == ""


DAMAGED = st.one_of(st.binary(max_size=40), st.sampled_from([b"", b"\xff\xff", b"-1", b"[always]", b"0-99999", b"999999999999999999999", b"\xc2\xb2"]))


@given(st.data())
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever the files contain, the look ends with values that can be carried to the controller."""
    tree = host()
    files = sorted(path for path, value in tree.items() if not isinstance(value, nodes.Link) and path != "proc/cpuinfo")
    for path in data.draw(st.lists(st.sampled_from(files), max_size=12, unique=True)):
        tree[path] = data.draw(DAMAGED)
    found = look([HCA], nodes.write(tmp_path_factory.mktemp("node"), tree))
    assert decode(Found, encode(found)) == found
