# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Output of smpquery, vendstat and ibportstate. nodedesc prints `Node Description:`, dots up to column 32, and the description."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _smpquery
from ansible_collections.rdma.ofed.plugins.module_utils._tools._smpquery import parse_node_description
from hypothesis import given
from hypothesis import strategies as st
from support.recordings import CORPUS

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

SIMULATED = (CORPUS / "ibportstate/sim_query.txt").read_text(encoding="utf-8")
CONNECTX_3 = (CORPUS / "ibportstate/cx3_query_lid12.txt").read_text(encoding="utf-8")


def printed(description: str) -> str:
    """Return the output of smpquery.c: the dots and the description fill 32 columns."""
    return "Node Description:%s%s\n" % ("." * max(0, 32 - len(description)), description)


@pytest.mark.parametrize("description", ["node1", "node1.example.org mlx5_0", "MT4119 ConnectX5   Mellanox Technologies"])
def test_description(description: str) -> None:
    assert parse_node_description(printed(description)) == description


@given(st.text(alphabet="abcXYZ019 -_", min_size=0, max_size=64).map(str.strip))
def test_any_description(description: str) -> None:
    assert parse_node_description(printed(description)) == description


def test_anything_else_is_no_description() -> None:
    assert parse_node_description("no route\n") == ""


def test_the_firmware_of_a_switch() -> None:
    assert _smpquery.parse_vendstat(TEXT) == ("11.2008.3328", "MT_1880110032")
    assert _smpquery.parse_vendstat("fw_version:  07.04.00\n") == ("07.04.00", "")


def test_an_answer_without_a_version() -> None:
    with pytest.raises(UnexpectedOutput):
        _smpquery.parse_vendstat("hw_dev_rev:  0x00a0\n")


def test_a_port_with_fdr() -> None:
    """The output of the vendor query that follows has lines with the same names."""
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
    assert _smpquery.speed_calls(["SDR", "EDR"]) == (("espeed", "2"), ("speed", "1"))
    # 30 disables the extended speeds; 0 would leave them unchanged.
    assert _smpquery.speed_calls(["SDR", "DDR", "QDR"]) == (("espeed", "30"), ("speed", "7"))
    # XDR is in a field of its own after those five bits.
    assert _smpquery.speed_calls(["SDR", "NDR", "XDR"]) == (("espeed", "40"), ("speed", "1"))
    assert _smpquery.speed_calls(["SDR", "XDR"]) == (("espeed", "62"), ("speed", "1"))
    assert _smpquery.width_calls(["1X", "4X"]) == (("width", "3"),)
    assert _smpquery.port_query("mlx5_0", 1, (2, 17)) == ["smpquery", "-C", "mlx5_0", "-P", "1", "portinfo", "2", "17"]
    assert _smpquery.port_setting("mlx5_0", 1, (2, 17), words=("disable",)) == ["ibportstate", "-C", "mlx5_0", "-P", "1", "2", "17", "disable"]


SECOND = "LinkSpeedExtActive2:.............%s\nLinkSpeedExtSupported2:..........%s\nLinkSpeedExtEnabled2:............%s\n"
FIRST = "LinkSpeedExtActive:..............%s\nLinkSpeedExtSupported:...........%s\nLinkSpeedExtEnabled:.............%s\n"


def port_info(first: tuple[str, str, str], second: tuple[str, str, str] | None) -> str:
    """Return a switch port in the format of libibmad, from a version with or without the second field."""
    recorded = (CORPUS / "smpquery/sim_portinfo_switch.txt").read_text(encoding="utf-8")
    return recorded[: recorded.index("LinkSpeedExtActive")] + FIRST % first + (SECOND % second if second else "")


FDR_NDR = "14.0625 Gbps or 25.78125 Gbps or 53.125 Gbps or 106.25 Gbps"
ALL = _smpquery.SPEEDS


@pytest.mark.parametrize(
    ("text", "speed", "enabled", "supported"),
    [
        (port_info(("No Extended Speed", FDR_NDR, FDR_NDR), ("212.5 Gbps", "212.5 Gbps", "212.5 Gbps")), "XDR", "SDR DDR QDR FDR EDR HDR NDR XDR", "XDR"),
        # Limited to NDR.
        (port_info(("106.25 Gbps", FDR_NDR, FDR_NDR), ("No Extended Speed 2", "212.5 Gbps", "0")), "NDR", "SDR DDR QDR FDR EDR HDR NDR", "XDR"),
        (port_info(("53.125 Gbps", FDR_NDR, "Extended link speeds disabled"), ("No Extended Speed 2", "0", "0")), "HDR", "SDR DDR QDR", "NDR"),
        # libibmad before NDR, and a port without the second field.
        (port_info(("undefined (8)", "53.125 Gbps or undefined (12)", "53.125 Gbps or undefined (12)"), None), "NDR", "SDR DDR QDR HDR NDR", "NDR"),
    ],
)
def test_extended_speeds(text: str, speed: str, enabled: str, supported: str) -> None:
    found = _smpquery.parse_port(text)
    assert found.speed == speed
    assert " ".join(found.speeds) == enabled
    assert found.supported_speeds[-1] == supported
