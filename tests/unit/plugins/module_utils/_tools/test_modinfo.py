# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Output of modinfo and ofed_info."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools._modinfo import parse_modinfo, parse_ofed_info, parse_parameters
from hypothesis import given
from hypothesis import strategies as st
from support.node_files import MODINFO
from support.recordings import CORPUS

# From Debian 12: mlx4_core, ib_srp (whose parameters without a type are parsed by functions of its own), and the form of xprtrdma.
PARAMETERS = """\
msi_x:0 - don't use MSI-X, 1 - use MSI-X, >1 - limit number of MSI-X irqs to msi_x (int)
num_vfs:enable #num_vfs functions if num_vfs > 0
num_vfs=port1,port2,port1+2 (array of byte)
enable_4k_uar:Enable using 4K UAR. Should not be enabled if have VFs which do not support 4K UARs (default: false) (bool)
debug_mask:debug mask: 1 = dump cmd data, 2 = dump cmd exec time, 3 = both. Default=0 (uint)
reconnect_delay:Time between successive reconnect attempts
bare:(charp)
"""


def srcversions(text: str) -> dict[str, str]:
    return {name: fields.get("srcversion", "") for name, fields in parse_modinfo(text).items()}


def test_several_modules() -> None:
    assert srcversions(MODINFO) == {"ib_core": "D0AA3CFDF5D7B8F1A64A2C5", "mlx5_core": "533BB7E5866E52F63B9ACCB"}
    assert parse_modinfo(MODINFO)["ib_core"]["license"] == "Dual BSD/GPL"


def test_a_repeated_field_counts_once() -> None:
    assert parse_modinfo("filename: /a.ko\nalias: x\nalias: y\n") == {"a": {"filename": "/a.ko", "alias": "x"}}


def test_recorded_modinfo_of_modules_without_srcversion() -> None:
    text = (CORPUS / "modinfo/debian12_inbox.txt").read_text(encoding="utf-8")
    assert srcversions(text) == {"ib_core": "", "mlx4_core": "EA441402C0392E7664B0960", "ib_ipoib": ""}


def test_types_of_parameters() -> None:
    assert parse_parameters(PARAMETERS) == {
        "msi_x": "int",
        "num_vfs": "array of byte",
        "enable_4k_uar": "bool",
        "debug_mask": "uint",
        "reconnect_delay": "",
        "bare": "charp",
    }
    assert not parse_parameters("")


@given(st.text())
def test_any_text(text: str) -> None:
    parse_modinfo(text)
    parse_parameters(text)


@pytest.mark.parametrize(
    ("file", "spelling", "version"),
    [
        ("mlnx_23_10.txt", "MLNX_OFED_LINUX", "23.10-5.1.4.0"),
        ("ofed_internal_23_07.txt", "OFED-internal", "23.07-0.5.0"),
        ("ofed_internal_5_0.txt", "OFED-internal", "5.0-1.0.0.0"),
        ("full_5_0_first_lines.txt", "MLNX_OFED_LINUX", "5.0-2.1.8.0"),
        ("full_5_1_deb_truncated.txt", "MLNX_OFED_LINUX", "5.1-2.5.8.0"),
    ],
)
def test_recorded_ofed_info(file: str, spelling: str, version: str) -> None:
    assert parse_ofed_info((CORPUS / "ofed_info" / file).read_text(encoding="utf-8")) == (spelling, version)
