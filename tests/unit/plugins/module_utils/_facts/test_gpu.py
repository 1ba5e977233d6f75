# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUs, their driver, and PCI Express, from texts as the kernel and kmod write them."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _gpu, _gpu_driver, _kernels, _pcie
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import Source, module_files
from ansible_collections.rdma.ofed.plugins.module_utils._record import as_data
from ansible_collections.rdma.ofed.plugins.module_utils._tools._modinfo import parse_modinfo
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes

RELEASE = "6.1.0-50-amd64"
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  (dvs-builder@U16-A24-9-2)  Thu Oct 10 12:15:00 UTC 2024\n"
    "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)\n"
)
BUILT_HERE = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  525.60.11  Release Build  (archlinux-builder@localhost)  \nGCC version: 12.2.0\n"
SHORT = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  555.58  Release Build  (portage@localhost)\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13 16:14:05 UTC 2021\nGCC version:  gcc version 9.3.0\n"
MODINFO = """\
filename:       /lib/modules/6.8.0-90-generic/updates/dkms/nvidia.ko
import_ns:      DMA_BUF
alias:          char-major-195-*
version:        590.44.01
license:        %s
srcversion:     6AB346C68F15FDDC88B47F1
depends:        ecc
vermagic:       6.8.0-90-generic SMP preempt mod_unload modversions
parm:           NvSwitchRegDwords:NvSwitch regkey (charp)
"""
DEP = """\
updates/dkms/nvidia.ko:
updates/dkms/nvidia-uvm.ko.zst: updates/dkms/nvidia.ko
updates/dkms/nvidia-peermem.ko: updates/dkms/ib_core.ko updates/dkms/mlx_compat.ko updates/dkms/nvidia.ko
updates/dkms/ib_core.ko: updates/dkms/mlx_compat.ko
"""
SYMBOLS = "alias symbol:ib_query_port ib_core\nalias symbol:ib_register_peer_memory_client ib_core\nalias symbol:nvidia_p2p_get_pages nvidia\n"
KALLSYMS = b"""\
ffffffff81000000 T startup_64
0000000000000000 r __kstrtab_ib_register_peer_memory_client\t[ib_core]
0000000000000000 T ib_register_peer_memory_client\t[ib_core]
0000000000000000 T ib_register_peer_memory_client_other\t[other]
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (OPEN, ("565.57.01", "open")),
        (BUILT_HERE, ("525.60.11", "open")),
        (SHORT, ("555.58", "open")),
        (CLOSED, ("470.57.02", "proprietary")),
        ("", ("", "")),
        ("GCC version: 12.2.0\n", ("", "")),
    ],
)
def test_version(text: str, found: tuple[str, str]) -> None:
    assert _gpu_driver.parse_version(text) == found


@given(st.text())
def test_version_of_anything(text: str) -> None:
    version, flavour = _gpu_driver.parse_version(text)
    assert bool(version) == bool(flavour)


def test_modinfo_tells_the_flavour_by_the_license() -> None:
    assert _gpu_driver.flavour_of(parse_modinfo(MODINFO % "NVIDIA")["nvidia"]) == ("590.44.01", "proprietary")
    assert _gpu_driver.flavour_of(parse_modinfo(MODINFO % "Dual MIT/GPL")["nvidia"]) == ("590.44.01", "open")
    assert _gpu_driver.flavour_of({}) == ("", "")


def test_who_offers_peer_memory() -> None:
    assert _gpu.parse_exporter(SYMBOLS) == "ib_core"
    assert _gpu.parse_exporter("alias symbol:ib_register_peer_memory_client_x other\n") == ""
    assert _gpu.parse_kallsyms(KALLSYMS) == "ib_core"
    assert _gpu.parse_kallsyms(b"ffffffff81000000 T ib_register_peer_memory_client\n") == "kernel"
    assert _gpu.parse_kallsyms(b"0 t ib_unregister_peer_memory_client\t[ib_core]\n") == ""


def test_dependencies_and_names() -> None:
    needs = _kernels.module_needs(DEP)
    assert needs["nvidia_peermem"] == ("ib_core", "mlx_compat", "nvidia")
    assert _gpu_driver.driver_names(needs) == ("nvidia", "nvidia_peermem")
    # Debian's names.
    assert _gpu_driver.driver_names({"nvidia_current", "nvidia_current_uvm", "nvidia_current_peermem"}) == ("nvidia_current", "nvidia_current_peermem")
    assert _gpu_driver.driver_names({"nvidia_wmi_ec_backlight", "nvme"}) == ("", "")


def test_what_dkms_builds() -> None:
    sources = (Source("nvidia", "535.1", ()), Source("nvidia-fs", "535.1"), Source("nvidia-open", "550.2", (RELEASE,)), Source("mlnx-ofed-kernel", "550.2"))
    assert _gpu_driver.dkms_source(sources, RELEASE, "550.2") == ("nvidia-open/550.2", True)
    assert _gpu_driver.dkms_source(sources, RELEASE, "535.1") == ("nvidia/535.1", False)
    assert _gpu_driver.dkms_source(sources, RELEASE, "470.1") == ("", False)


@pytest.mark.parametrize(
    ("one", "other", "same_node", "path"),
    [
        ("pci0000:17 0000:17:00.0 0000:18:00.0 0000:19:00.0 0000:1a:00.0", "pci0000:17 0000:17:00.0 0000:18:00.0 0000:19:01.0 0000:1b:00.0", True, "PIX"),
        ("pci0000:17 0000:17:00.0 0000:18:00.0", "pci0000:17 0000:17:00.0 0000:18:00.1", True, "PIX"),
        (
            "pci0000:17 0000:17:00.0 0000:18:00.0 0000:19:00.0 0000:1a:00.0 0000:1b:00.0",
            "pci0000:17 0000:17:00.0 0000:18:00.0 0000:19:01.0 0000:1c:00.0",
            True,
            "PXB",
        ),
        ("pci0000:17 0000:17:00.0 0000:18:00.0", "pci0000:17 0000:17:01.0 0000:19:00.0", True, "PHB"),
        ("pci0000:17 0000:17:00.0 0000:18:00.0", "pci0000:3a 0000:3a:00.0 0000:3b:00.0", True, "NODE"),
        ("pci0000:17 0000:17:00.0 0000:18:00.0", "pci0000:97 0000:97:00.0 0000:98:00.0", False, "SYS"),
        ("", "pci0000:97 0000:97:00.0", False, "SYS"),
    ],
)
def test_paths(one: str, other: str, same_node: bool, path: str) -> None:
    first, second = tuple(one.split()), tuple(other.split())
    assert _pcie.path_between(first, second, same_node) == path
    assert _pcie.path_between(second, first, same_node) == path
    assert not set(_pcie.bridges_between(first, second)) & {*first[-1:], *second[-1:]}


def configuration(control: int, before: int = 1) -> bytes:
    """Return a configuration space with the access control capability after `before` others."""
    content = bytearray(4096)
    offset = 0x100
    for number in range(before):
        content[offset : offset + 4] = ((offset + 0x40) << 20 | 1 << 16 | 1 + number).to_bytes(4, "little")
        offset += 0x40
    content[offset : offset + 4] = (1 << 16 | 0x000D).to_bytes(4, "little")
    content[offset + 6 : offset + 8] = control.to_bytes(2, "little")
    return bytes(content)


def test_access_control() -> None:
    # SrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+, as a hypervisor sets it; source validation alone redirects nothing.
    assert _pcie.acs_redirects(configuration(0x001D))
    assert _pcie.acs_redirects(configuration(0x0004, 3))
    assert not _pcie.acs_redirects(configuration(0x0011))
    assert not _pcie.acs_redirects(configuration(0x001D)[:64])
    assert not _pcie.acs_redirects(b"\xff" * 4096)


@given(st.binary(max_size=4096))
def test_access_control_of_anything(content: bytes) -> None:
    assert _pcie.acs_redirects(content) in (True, False)


def node(**changed: t.Any) -> nodes.Tree:
    """Return a node with a GPU and an adapter below one switch whose ports redirect, and a graphics card of another vendor."""
    switch = "sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0"
    gpu, hca = switch + "/0000:19:00.0/0000:1a:00.0", switch + "/0000:19:01.0/0000:1b:00.0"
    tree: nodes.Tree = {
        "%s/vendor" % gpu: "0x10de\n",
        "%s/class" % gpu: "0x030200\n",
        "%s/device" % gpu: "0x2330\n",
        "%s/numa_node" % gpu: "0\n",
        "%s/driver" % gpu: nodes.Link("/sys/bus/pci/drivers/nvidia"),
        "%s/vendor" % hca: "0x15b3\n",
        "%s/class" % hca: "0x020700\n",
        "%s/numa_node" % hca: "-1\n",
        "sys/devices/pci0000:00/0000:00:02.0/vendor": "0x1a03\n",
        "sys/devices/pci0000:00/0000:00:02.0/class": "0x030000\n",
        "sys/bus/pci/devices/0000:1a:00.0": nodes.Link("/" + gpu),
        "sys/bus/pci/devices/0000:1b:00.0": nodes.Link("/" + hca),
        "sys/bus/pci/devices/0000:19:00.0": nodes.Link("/" + switch + "/0000:19:00.0"),
        "sys/bus/pci/devices/0000:00:02.0": nodes.Link("/sys/devices/pci0000:00/0000:00:02.0"),
        "%s/0000:19:00.0/config" % switch: configuration(0x001D),
        "sys/class/infiniband/mlx5_0/device": nodes.Link("/" + hca),
        "proc/driver/nvidia/version": OPEN,
        "proc/modules": "nvidia_peermem 16384 2 - Live 0x0\nnvidia 900000 5 nvidia_peermem, Live 0x0\nib_core 1 1 nvidia_peermem, Live 0x0\n",
        "proc/kallsyms": KALLSYMS,
        "lib/modules/%s/modules.dep" % RELEASE: DEP,
        "lib/modules/%s/modules.symbols" % RELEASE: SYMBOLS,
        "sys/module/nvidia_peermem/parameters/peerdirect_support": "0\n",
        "sys/kernel/mm/memory_peers/nv_mem/version": "565.57.01\n",
        "usr/local/cuda/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.2.20230823"}}',
        "var/lib/dkms/nvidia/565.57.01/source": nodes.Link("/usr/src/nvidia-565.57.01"),
    }
    return {**tree, **changed}


def test_a_node_with_all_of_it(tmp_path: pathlib.Path) -> None:
    run = nodes.FakeRunner()
    gpu = _gpu.read_gpu(run, RELEASE, nodes.write(tmp_path, node()))
    assert run.ran == []
    assert gpu.devices == (_gpu.Device("0000:1a:00.0", "0x2330", "nvidia", 0),)
    assert gpu.driver == _gpu.Driver("565.57.01", "open", True, "nvidia/565.57.01", "12.2.20230823")
    assert gpu.peer("nvidia_peermem") == _gpu.Peer("nvidia_peermem", "nvidia_peermem", True, False, True, 2, "0")
    assert gpu.peer("nv_peer_mem") == _gpu.Peer("nv_peer_mem")
    assert gpu.peer_memory == _gpu.PeerMemory("ib_core", "ib_core", True)
    assert gpu.clients == ("nv_mem",)
    assert gpu.topology == (_gpu.Path("0000:1a:00.0", "mlx5_0", "PIX", ("0000:19:00.0",)),)
    assert _gpu.from_facts(as_data(gpu)).driver == gpu.driver._replace(cuda="")


GONE = "updates/dkms/ib_core.ko: updates/dkms/mlx_compat.ko\n"


@pytest.mark.parametrize(
    ("dep", "place", "found"),
    [
        # The build failed, and DKMS knows the source; or it was interrupted after DKMS had removed the source.
        (GONE, "var/lib/dkms/nvidia/565.57.01/source", ("nvidia/565.57.01", True)),
        (GONE, "usr/src/nvidia-open-565.57.01/dkms.conf", ("nvidia-open/565.57.01", True)),
        # Of another release, of another project, and of none.
        (GONE, "usr/src/nvidia-470.57.02/dkms.conf", ("", False)),
        (GONE, "usr/src/nvidia-fs-565.57.01/dkms.conf", ("", False)),
        # Prebuilt modules: their source does not matter.
        ("updates/nvidia.ko:\n", "usr/src/nvidia-565.57.01/dkms.conf", ("", False)),
        (DEP, "var/lib/dkms/nvidia/565.57.01/source", ("nvidia/565.57.01", False)),
    ],
)
def test_a_loaded_driver_that_is_not_on_disk(tmp_path: pathlib.Path, dep: str, place: str, found: tuple[str, bool]) -> None:
    tree = node(**{"lib/modules/%s/modules.dep" % RELEASE: dep})
    del tree["var/lib/dkms/nvidia/565.57.01/source"]
    driver = _gpu.read_gpu(nodes.FakeRunner(), RELEASE, nodes.write(tmp_path, {**tree, place: ""})).driver
    assert (driver.version, driver.loaded) == ("565.57.01", True)
    assert (driver.dkms, driver.unbuilt) == found


def test_one_that_dkms_has_installed_without_peer_memory_is_not_unbuilt(tmp_path: pathlib.Path) -> None:
    tree = node(**{"lib/modules/%s/modules.dep" % RELEASE: "updates/dkms/nvidia.ko:\n"})
    tree["var/lib/dkms/nvidia/kernel-%s-x86_64" % RELEASE] = nodes.Link("565.57.01/%s/x86_64" % RELEASE)
    driver = _gpu.read_gpu(nodes.FakeRunner(), RELEASE, nodes.write(tmp_path, tree)).driver
    assert (driver.dkms, driver.unbuilt) == ("nvidia/565.57.01", False)


def test_a_driver_that_is_not_loaded_is_looked_up_on_disk(tmp_path: pathlib.Path) -> None:
    run = nodes.FakeRunner({"modinfo": MODINFO % "NVIDIA"})
    tree = node(**{"proc/driver/nvidia/version": "", "proc/modules": ""})
    gpu = _gpu.read_gpu(run, RELEASE, nodes.write(tmp_path, tree))
    assert run.ran == ["modinfo -k %s nvidia" % RELEASE]
    assert gpu.driver[:3] == ("590.44.01", "proprietary", False)
    assert gpu.peer_memory == _gpu.PeerMemory("ib_core", "", False)


@pytest.mark.parametrize(("needed", "other"), [("0x1234abcd", False), ("0x0234abcd", True), ("", False)])
def test_symbol_versions(tmp_path: pathlib.Path, needed: str, other: bool) -> None:
    tree = node()
    tree["usr/src/ofa_kernel/default/Module.symvers"] = "0x1234abcd\t%s\tib_core\tEXPORT_SYMBOL\t\n0x1\tother\tib_core\tEXPORT_SYMBOL\t\n" % _gpu.SYMBOL
    root = nodes.write(tmp_path, tree)
    run = nodes.FakeRunner({"modprobe": "0x5\tmodule_layout\n%s" % ("%s\t%s\n" % (needed, _gpu.SYMBOL) if needed else "")})
    gpu = _gpu.read_gpu(run, RELEASE, root)
    assert run.ran == ["modprobe --dump-modversions %s/lib/modules/%s/updates/dkms/nvidia-peermem.ko" % (root, RELEASE)]
    assert gpu.peer("nvidia_peermem").other_build == other
    assert "nv_peer_mem" not in module_files(DEP)


DKMS, BY_MACHINE = "usr/src/ofa_kernel-dkms/%s/" % os.uname().machine, "usr/src/ofa_kernel/%s/" % os.uname().machine
OTHER = "6.1.0-49-amd64"


@pytest.mark.parametrize(
    ("folders", "links", "expected"),
    [
        ((DKMS + RELEASE, BY_MACHINE + RELEASE, "usr/src/ofa_kernel/" + RELEASE, "usr/src/ofa_kernel/default"), {}, DKMS + RELEASE),
        ((BY_MACHINE + RELEASE, "usr/src/ofa_kernel/" + RELEASE, "usr/src/ofa_kernel/default"), {}, BY_MACHINE + RELEASE),
        (("usr/src/ofa_kernel/" + RELEASE, "usr/src/ofa_kernel/default"), {}, "usr/src/ofa_kernel/" + RELEASE),
        (("usr/src/ofa_kernel/default",), {}, "usr/src/ofa_kernel/default"),
        # As with alternatives: for this kernel, for another one, and for all.
        ((BY_MACHINE + RELEASE,), {"usr/src/ofa_kernel/default": BY_MACHINE + RELEASE}, BY_MACHINE + RELEASE),
        ((DKMS + OTHER,), {"usr/src/ofa_kernel/default": DKMS + OTHER}, ""),
        (("usr/src/mlnx-ofed-kernel-5.8",), {"usr/src/ofa_kernel/default": "usr/src/mlnx-ofed-kernel-5.8"}, "usr/src/mlnx-ofed-kernel-5.8"),
        # A dangling link.
        ((), {BY_MACHINE + RELEASE: DKMS + RELEASE}, ""),
    ],
)
def test_where_the_stack_leaves_its_numbers(tmp_path: pathlib.Path, folders: t.Sequence[str], links: t.Mapping[str, str], expected: str) -> None:
    nodes.write(tmp_path, {folder + "/Module.symvers": folder for folder in folders})
    for link, target in links.items():
        (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / link).symlink_to(tmp_path / target)
    assert _gpu_driver.symvers_of(str(tmp_path), RELEASE) == expected


def test_a_node_without_gpu_starts_nothing(tmp_path: pathlib.Path) -> None:
    tree = {name: content for name, content in node().items() if "1a:00.0" not in name}
    run = nodes.FakeRunner({"modinfo": MODINFO})
    tree["etc/modprobe.d/rdma-ofed-gpudirect.conf"] = ""
    gpu = _gpu.read_gpu(run, RELEASE, nodes.write(tmp_path, tree))
    assert (run.ran, gpu) == ([], _gpu.Gpu(managed=("/etc/modprobe.d/rdma-ofed-gpudirect.conf",)))
    assert _gpu.from_facts({}) == _gpu.Gpu()


def test_cuda_of_no_known_form(tmp_path: pathlib.Path) -> None:
    for text in ("", "{", "[]", '{"cuda": 12}'):
        nodes.write(tmp_path, {"usr/local/cuda/version.json": text})
        assert _gpu_driver._read_cuda(str(tmp_path)) == ""
