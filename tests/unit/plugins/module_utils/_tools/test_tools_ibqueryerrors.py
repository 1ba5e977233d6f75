# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _port_counters
from ansible_collections.rdma.ofed.plugins.module_utils._tools._port_counters import Errors, PortErrors

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "corpus/ibqueryerrors"
SUMMARY = "\n## Summary: 6 nodes checked, 0 bad nodes found\n##          20 ports checked, 0 ports have errors beyond threshold\n"


def test_a_clean_fabric() -> None:
    assert _port_counters.parse_errors((CORPUS / "sim_clean.txt").read_text(encoding="utf-8")) == Errors(complete=True)


def test_the_sum_of_a_switch_is_no_port() -> None:
    found = _port_counters.parse_errors((CORPUS / "sim_stage_one_switch.txt").read_text(encoding="utf-8"))
    counters = (("SymbolErrorCounter", 65535, False), ("LinkErrorRecoveryCounter", 12, False))
    assert found == Errors((PortErrors("0xf4521403001165a0", 5, counters),), True)


def test_counters_of_64_bits_are_known_by_their_rounded_form() -> None:
    text = 'Errors for "n" x"\n   GUID 0x10e0000192ab51 port 1: [PortXmitWait == 127475528 (121.570M)] [VL15Dropped == 232 (232.000)] [X == 1]\n' + SUMMARY
    (port,) = _port_counters.parse_errors(text).ports
    assert port == PortErrors("0x0010e0000192ab51", 1, (("PortXmitWait", 127475528, True), ("VL15Dropped", 232, True), ("X", 1, False)))


@pytest.mark.parametrize(
    "line", ["   GUID 0x1 port 1: [A == 1", "   GUID 0x1 port 1: [A == x]", "   GUID 0x1 port 1: [A == 1]]", "what", "   GUID 0x1 port x: [A == 1]"]
)
def test_what_is_not_understood_is_kept(line: str) -> None:
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
