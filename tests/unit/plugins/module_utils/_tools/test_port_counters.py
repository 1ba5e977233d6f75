# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Output of perfquery and ibqueryerrors for port counters."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _port_counters
from ansible_collections.rdma.ofed.plugins.module_utils._tools._port_counters import Errors, Listing, PortErrors
from support.recordings import CORPUS

BASIC = (CORPUS / "perfquery/sim_port1.txt").read_text(encoding="utf-8")
SUMMARY = "\n## Summary: 6 nodes checked, 0 bad nodes found\n##          20 ports checked, 0 ports have errors beyond threshold\n"


def test_the_counters_of_a_port() -> None:
    (port,) = _port_counters.parse_counters(BASIC).ports
    assert (port.lid, port.port, port.extended, port.abilities) == (4, 1, False, 0x1200)
    assert (len(port.counters), port.counters["PortXmitData"], port.counters["PortXmitWait"]) == (19, 25128, 0)
    assert "PortSelect" in port.counters and "CounterSelect" not in port.counters


def test_counters_of_64_bits() -> None:
    found = _port_counters.parse_counters((CORPUS / "perfquery/ca_edr_4b96.txt").read_text(encoding="utf-8"))
    (port,) = found.ports
    assert (port.lid, port.port, port.extended, port.abilities, found.unread) == (133, 1, True, 0x5A00, ())
    assert (port.counters["PortXmitData"], port.counters["SymbolErrorCounter"]) == (37108676853855, 0)


def test_several_ports_at_once() -> None:
    found = _port_counters.parse_counters(BASIC + BASIC.replace("port 1 ", "port 2 ").replace("25128", "7"))
    assert [(port.port, port.counters["PortRcvData"]) for port in found.ports] == [(1, 25128), (2, 7)]


def test_other_counters_are_none_of_the_port() -> None:
    details = (CORPUS / "perfquery/sw_rcv_err_details.txt").read_text(encoding="utf-8")
    assert _port_counters.parse_counters(details) == Listing()
    assert _port_counters.parse_counters(BASIC + details) == _port_counters.parse_counters(BASIC)


@pytest.mark.parametrize("line", ["what", "SymbolErrorCounter:......x", "SymbolErrorCounter", "ibwarn: [1] no"])
def test_what_is_not_understood_is_kept(line: str) -> None:
    assert _port_counters.parse_counters(BASIC + line + "\n") == _port_counters.parse_counters(BASIC)._replace(unread=(line,))


@pytest.mark.parametrize(("abilities", "mask"), [(0, 0xFFF), (0x1200, 0x10FFF), (0x9000, 0x30FFF)])
def test_only_errors_are_selected_and_only_those_that_the_port_has(abilities: int, mask: int) -> None:
    assert _port_counters.error_mask(abilities) == mask


def test_a_clean_fabric() -> None:
    assert _port_counters.parse_errors((CORPUS / "ibqueryerrors/sim_clean.txt").read_text(encoding="utf-8")) == Errors(complete=True)


def test_the_sum_of_a_switch_is_no_port() -> None:
    found = _port_counters.parse_errors((CORPUS / "ibqueryerrors/sim_stage_one_switch.txt").read_text(encoding="utf-8"))
    counters = (("SymbolErrorCounter", 65535, False), ("LinkErrorRecoveryCounter", 12, False))
    assert found == Errors((PortErrors("0xf4521403001165a0", 5, counters),), True)


def test_counters_of_64_bits_are_known_by_their_rounded_form() -> None:
    text = 'Errors for "n" x"\n   GUID 0x10e0000192ab51 port 1: [PortXmitWait == 127475528 (121.570M)] [VL15Dropped == 232 (232.000)] [X == 1]\n' + SUMMARY
    (port,) = _port_counters.parse_errors(text).ports
    assert port == PortErrors("0x0010e0000192ab51", 1, (("PortXmitWait", 127475528, True), ("VL15Dropped", 232, True), ("X", 1, False)))


@pytest.mark.parametrize(
    "line", ["   GUID 0x1 port 1: [A == 1", "   GUID 0x1 port 1: [A == x]", "   GUID 0x1 port 1: [A == 1]]", "what", "   GUID 0x1 port x: [A == 1]"]
)
def test_a_line_of_all_ports_that_is_not_understood_is_kept(line: str) -> None:
    assert _port_counters.parse_errors(line + SUMMARY) == Errors((), True, (line,))


def test_without_a_summary_it_is_not_complete() -> None:
    assert _port_counters.parse_errors("") == Errors()


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("ibwarn: [1] print_errors: IB_GSI_PORT_COUNTERS query failed on n1 HCA-1, Lid 4 port 1", ((4, 1),)),
        ("ibwarn: [1] print_errors: IB_GSI_PORT_COUNTERS_EXT query failed on a, Lid 5 port 6, Lid 4 port 255", ((4, 255),)),
        ("ibwarn: [1] query_cap_mask: classportinfo query failed on n1, Lid 4 port 1", ()),
        ("ibwarn: [1] print_errors: IB_GSI_PORT_COUNTERS query failed on n1, Lid 4 port 1 x", ()),
        ("what", ()),
    ],
)
def test_ports_that_did_not_answer(line: str, places: tuple[tuple[int, int], ...]) -> None:
    assert _port_counters.parse_silent("umad: timeout\n" + line + "\n") == places
