# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

from ansible_collections.rdma.ofed.plugins.module_utils._tools import _iblinkinfo

TEXT = (pathlib.Path(__file__).resolve().parents[4] / "corpus/iblinkinfo/sim_4hca_line_mode.txt").read_text(encoding="utf-8")


def test_the_ends_of_active_links_are_listed() -> None:
    assert _iblinkinfo.parse_active(TEXT) == {
        "0x0000000000100001": "Hca1",
        "0x0000000000100004": "Hca2",
        "0x0000000000100007": "Hca3",
        "0x000000000010000a": "Hca4",
        "0x0000000000200000": "Switch1",
        "0x0000000000200001": "Switch2",
    }
    assert _iblinkinfo.parse_active("") == {}
