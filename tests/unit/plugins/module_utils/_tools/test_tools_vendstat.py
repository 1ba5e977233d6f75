# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _smpquery

TEXT = """hw_dev_rev:  0x00a0
hw_dev_id:   0xcb20
hw_uptime:   0x00345678
fw_version:  11.2008.3328
fw_build_id: 0x0000
fw_date:     12/01/2021
fw_psid:     'MT_1880110032'
fw_ini_ver:  4
sw_version:  00.00.00
"""


def test_the_firmware_of_a_switch() -> None:
    assert _smpquery.parse_vendstat(TEXT) == ("11.2008.3328", "MT_1880110032")
    assert _smpquery.parse_vendstat("fw_version:  07.04.00\n") == ("07.04.00", "")


def test_an_answer_without_a_version() -> None:
    with pytest.raises(UnexpectedOutput):
        _smpquery.parse_vendstat("hw_dev_rev:  0x00a0\n")
