# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._virtual import TYPES, is_virtual

PCI = "0000:03:00.0"


@pytest.mark.parametrize(
    ("vendor", "device", "physfn", "virtual"),
    [
        ("0x15b3", "0x101b", False, False),
        ("0x15b3", "0x101b", True, True),
        # In a guest, nothing leads to the physical function.
        ("0x15b3", "0x101c", False, True),
        ("0x15b3", "0x1004", False, True),
        ("0x8086", "0x101c", False, False),
        ("", "", False, False),
    ],
)
def test_functions(tmp_path: pathlib.Path, vendor: str, device: str, physfn: bool, virtual: bool) -> None:
    function = tmp_path / "sys/bus/pci/devices" / PCI
    function.mkdir(parents=True)
    (function / "vendor").write_text(vendor + "\n", encoding="utf-8")
    (function / "device").write_text(device + "\n", encoding="utf-8")
    if physfn:
        (function / "physfn").symlink_to("../nowhere")
    assert is_virtual(str(tmp_path), PCI) is virtual


def test_types_are_the_same_numbers_in_decimal() -> None:
    assert {"MT4100", "MT4124", "MT4126"} <= TYPES
    assert "MT4123" not in TYPES
