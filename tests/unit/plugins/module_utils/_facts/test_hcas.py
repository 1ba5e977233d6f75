# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import io
import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _ports
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Adapter, Hca
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes


def test_node_without_adapter(tmp_path: pathlib.Path) -> None:
    assert _ports.read_hcas(str(tmp_path)) == ()


def test_connectx5(tmp_path: pathlib.Path) -> None:
    first, second = _ports.read_hcas(nodes.write(tmp_path, nodes.connectx5()))
    assert first == Hca(
        name="mlx5_0",
        type="MT4119",
        driver="mlx5_core",
        pci="0000:03:00.0",
        functions=nodes.CX5,
        virtual=False,
        psid="MT_0000000008",
        firmware="16.35.2000",
        part_number="MCX556A-ECAT",
        node_guid="0x0c42a10300000010",
        node_description="node1 mlx5_0",
        numa_node=0,
    )
    assert (second.pci, second.functions) == ("0000:03:00.1", nodes.CX5)


def test_recorded_connectx3_shows_both_ports_on_one_function(tmp_path: pathlib.Path) -> None:
    (hca,) = _ports.read_hcas(nodes.write(tmp_path, nodes.connectx3()))
    assert (hca.type, hca.driver, hca.functions, hca.node_guid, hca.part_number) == ("MT4099", "mlx4_core", (nodes.CX3,), "0x0002c90300a4e720", "")


def test_virtual_function(tmp_path: pathlib.Path) -> None:
    tree = {**nodes.connectx5(), nodes.pci_path("0000:03:00.1") + "/physfn": nodes.Link("../0000:03:00.0")}
    assert [hca.virtual for hca in _ports.read_hcas(nodes.write(tmp_path, tree))] == [False, True]


def test_subfunction_belongs_to_its_pci_function(tmp_path: pathlib.Path) -> None:
    device = nodes.pci_path(nodes.CX5[0]) + "/mlx5_core.sf.4"
    tree: nodes.Tree = {
        "sys/class/infiniband/mlx5_4": nodes.Link("/%s/infiniband/mlx5_4" % device),
        device + "/infiniband/mlx5_4/device": nodes.Link("../../"),
    }
    (hca,) = _ports.read_hcas(nodes.write(tmp_path, tree))
    assert (hca.pci, hca.functions) == ("0000:03:00.0", ("0000:03:00.0",))


def test_soft_roce_has_no_pci_function(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {"sys/class/infiniband/rxe0/node_guid": "0a00:27ff:fe67:4f90\n"}
    assert _ports.read_hcas(nodes.write(tmp_path, tree)) == (Hca("rxe0", node_guid="0x0a0027fffe674f90"),)


@pytest.mark.parametrize("cut", range(3, 50))
def test_part_number_is_whole_or_none(cut: int) -> None:
    data = nodes.vpd("MCX556A-ECAT")
    assert _ports.part_number(io.BytesIO(data[:cut])) in ("", "MCX556A-ECAT")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (nodes.vpd("MCX556A-ECAT"), "MCX556A-ECAT"),
        (nodes.vpd("MCX354A-FCBT  "), "MCX354A-FCBT"),
        (b"\x78", ""),
        (b"\x90\x04\x00SN\x01x\x78", ""),
        (b"", ""),
        (b"\x90", ""),
        (b"\x90\x08\x00PN\x0cMCX55", ""),
    ],
)
def test_part_number(data: bytes, found: str) -> None:
    assert _ports.part_number(io.BytesIO(data)) == found


def test_part_number_that_starts_late_and_endless_data(tmp_path: pathlib.Path) -> None:
    late = nodes.rdma("mlx5_0", nodes.CX5[0], "0x1", vpd=nodes.vpd("MCX653105A-HDAT", "x" * 300))
    endless = nodes.rdma("mlx5_1", nodes.CX5[1], "0x1", vpd=b"\0" * 20000)
    found = _ports.read_hcas(nodes.write(tmp_path, {**late, **endless}))
    assert [hca.part_number for hca in found] == ["MCX653105A-HDAT", ""]


@given(st.binary())
def test_part_number_takes_any_bytes(data: bytes) -> None:
    assert isinstance(_ports.part_number(io.BytesIO(data)), str)


@pytest.mark.parametrize(
    ("vendor", "pci_class", "adapter"),
    [
        ("0x15b3", "0x020700", True),
        ("0x15b3", "0x020000", True),
        ("0x15B3", "0x028000", True),
        ("0x8086", "0x020700", True),
        ("0x8086", "0x020000", False),
        ("0x15b3", "0x060400", False),
        ("", "", False),
    ],
)
def test_adapter(vendor: str, pci_class: str, adapter: bool) -> None:
    assert _ports.is_adapter(vendor, pci_class) is adapter


def test_adapters_with_and_without_driver(tmp_path: pathlib.Path) -> None:
    pci = "0000:05:00.0"
    bare = "sys/bus/pci/devices/" + pci
    tree = {**nodes.connectx5(), bare + "/vendor": "0x15b3\n", bare + "/device": "0x101b\n", bare + "/class": "0x020700\n"}
    root = nodes.write(tmp_path, tree)
    assert _ports.read_adapters(root, _ports.read_hcas(root)) == (
        Adapter(nodes.CX5[0], "0x15b3", "0x1017", "mlx5_core", ("mlx5_0",), True),
        Adapter(nodes.CX5[1], "0x15b3", "0x1017", "mlx5_core", ("mlx5_1",), True),
        Adapter(pci, "0x15b3", "0x101b", infiniband=True),
    )
