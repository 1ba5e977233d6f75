# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The registers of PCI Express, in configuration spaces of all kinds."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._pcie_registers import L0S, L1, Registers, parse_registers
from hypothesis import given
from hypothesis import strategies as st
from support.pci_spaces import TUNED, USUAL, express


@pytest.mark.parametrize(("control", "read_request"), [(USUAL, 512), (TUNED, 4096)])
def test_control_registers_of_adapters(control: int, read_request: int) -> None:
    assert parse_registers(express(control)) == Registers(256, 512, read_request, relaxed_ordering=True, aspm=0)
    # Old kernels and virtual machines show the first 256 bytes only.
    assert parse_registers(express(control, length=256)) == parse_registers(express(control))


def test_each_bit() -> None:
    assert parse_registers(express(0x0000, able=0)) == Registers(128, 128, 128, relaxed_ordering=False, aspm=0)
    assert parse_registers(express(0x0010, able=5, link=0x42)) == Registers(128, 4096, 128, relaxed_ordering=True, aspm=L1)
    assert parse_registers(express(0x70E0, able=7, link=0x41)) == Registers(0, 0, 0, relaxed_ordering=False, aspm=L0S), "reserved codes"
    assert parse_registers(express(before=7)) == parse_registers(express(before=0))


def test_spaces_without_the_capability() -> None:
    whole = express()
    assert parse_registers(whole[:64]) is None, "what users other than root can read"
    assert parse_registers(b"\xff" * 4096) is None, "a device that is gone"
    assert parse_registers(whole[:6] + b"\0" + whole[7:]) is None, "no list of capabilities"
    assert parse_registers(whole[:0x74]) is None, "a space that ends within the capability"
    assert parse_registers(whole[:0x34] + b"\0" + whole[0x35:]) is None, "an empty list"
    circle = bytearray(express(before=2))
    circle[0x71] = 0x60
    assert parse_registers(bytes(circle)) is None, "a list without an end"


@given(st.binary(max_size=300), st.integers(0, 255), st.booleans())
def test_damaged_spaces(content: bytes, first: int, whole: bool) -> None:
    damaged = bytearray(content)
    if whole and len(damaged) > 0x34:
        damaged[6], damaged[0x34] = 0x10, first
    found = parse_registers(bytes(damaged))
    assert found is None or {found.payload, found.payload_able, found.read_request} <= {0, 128, 256, 512, 1024, 2048, 4096}
