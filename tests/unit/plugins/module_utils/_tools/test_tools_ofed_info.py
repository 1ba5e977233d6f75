# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _modinfo

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "corpus/ofed_info"


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
    assert _modinfo.parse_ofed_info((CORPUS / file).read_text(encoding="utf-8")) == (spelling, version)
