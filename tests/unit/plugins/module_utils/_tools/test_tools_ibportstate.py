# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _smpquery
from recordings import CORPUS

SIMULATED = (CORPUS / "ibportstate/sim_query.txt").read_text(encoding="utf-8")
CONNECTX_3 = (CORPUS / "ibportstate/cx3_query_lid12.txt").read_text(encoding="utf-8")


def test_a_port_with_fdr() -> None:
    """The vendor's query that follows has lines of the same names."""
    found = _smpquery.parse_port(CONNECTX_3)
    assert found == _smpquery.PortSettings(
        "Active", "LinkUp", ("4X",), ("SDR", "DDR", "QDR", "FDR"), ("1X", "4X"), ("SDR", "DDR", "QDR", "FDR"), width="4X", speed="FDR"
    )
    assert not found.is_disabled


def test_a_port_without_extended_speeds() -> None:
    found = _smpquery.parse_port(SIMULATED)
    assert (found.widths, found.speeds, found.width, found.speed) == (("4X",), ("SDR",), "4X", "SDR")
    assert found.supported_widths == ("1X", "2X", "4X", "8X", "12X")
    assert found.supported_speeds == ("SDR", "DDR", "QDR")


def test_smpquery_shows_the_same() -> None:
    found = _smpquery.parse_port((CORPUS / "smpquery/sim_portinfo_switch.txt").read_text(encoding="utf-8"))
    assert (found.state, found.phys_state, found.width, found.speed) == ("Active", "LinkUp", "12X", "HDR")
    assert (found.widths, found.speeds) == (("1X", "4X", "12X"), ("SDR", "DDR", "QDR", "FDR", "EDR", "HDR"))
    assert found.supported_speeds == found.speeds


def test_a_port_that_is_off() -> None:
    found = _smpquery.parse_port(SIMULATED.replace("LinkUp", "Disabled").replace("Active\n", "Down\n", 1))
    assert found.is_disabled
    assert (found.state, found.width, found.speed) == ("Down", "", "")


@pytest.mark.parametrize("text", ["", "ibportstate: iberror: failed\n", "PhysLinkState:\n", "LinkState:......Active\n"])
def test_what_has_no_state(text: str) -> None:
    with pytest.raises(UnexpectedOutput):
        _smpquery.parse_port(text)


def test_the_settings_are_masks() -> None:
    assert _smpquery.speed_calls(["SDR", "EDR"]) == (("speed", "1"), ("espeed", "2"))
    # 30 switches the extended speeds off; 0 would leave them as they are.
    assert _smpquery.speed_calls(["SDR", "DDR", "QDR"]) == (("speed", "7"), ("espeed", "30"))
    assert _smpquery.width_calls(["1X", "4X"]) == (("width", "3"),)
    assert _smpquery.port_query("mlx5_0", 1, (2, 17)) == ["smpquery", "-C", "mlx5_0", "-P", "1", "portinfo", "2", "17"]
    assert _smpquery.port_setting("mlx5_0", 1, (2, 17), words=("disable",)) == ["ibportstate", "-C", "mlx5_0", "-P", "1", "2", "17", "disable"]
