# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _port_counters
from ansible_collections.rdma.ofed.plugins.module_utils._tools._port_counters import Listing

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "corpus/perfquery"
BASIC = (CORPUS / "sim_port1.txt").read_text(encoding="utf-8")


def test_the_counters_of_a_port() -> None:
    (port,) = _port_counters.parse_counters(BASIC).ports
    assert (port.lid, port.port, port.extended, port.abilities) == (4, 1, False, 0x1200)
    assert (len(port.counters), port.counters["PortXmitData"], port.counters["PortXmitWait"]) == (19, 25128, 0)
    assert "PortSelect" in port.counters and "CounterSelect" not in port.counters


def test_counters_of_64_bits() -> None:
    found = _port_counters.parse_counters((CORPUS / "ca_edr_4b96.txt").read_text(encoding="utf-8"))
    (port,) = found.ports
    assert (port.lid, port.port, port.extended, port.abilities, found.unread) == (133, 1, True, 0x5A00, ())
    assert (port.counters["PortXmitData"], port.counters["SymbolErrorCounter"]) == (37108676853855, 0)


def test_several_ports_at_once() -> None:
    found = _port_counters.parse_counters(BASIC + BASIC.replace("port 1 ", "port 2 ").replace("25128", "7"))
    assert [(port.port, port.counters["PortRcvData"]) for port in found.ports] == [(1, 25128), (2, 7)]


def test_other_counters_are_none_of_the_port() -> None:
    details = (CORPUS / "sw_rcv_err_details.txt").read_text(encoding="utf-8")
    assert _port_counters.parse_counters(details) == Listing()
    assert _port_counters.parse_counters(BASIC + details) == _port_counters.parse_counters(BASIC)


@pytest.mark.parametrize("line", ["what", "SymbolErrorCounter:......x", "SymbolErrorCounter", "ibwarn: [1] no"])
def test_what_is_not_understood_is_kept(line: str) -> None:
    assert _port_counters.parse_counters(BASIC + line + "\n") == _port_counters.parse_counters(BASIC)._replace(unread=(line,))


@pytest.mark.parametrize(("abilities", "mask"), [(0, 0xFFF), (0x1200, 0x10FFF), (0x9000, 0x30FFF)])
def test_only_errors_are_selected_and_only_those_that_the_port_has(abilities: int, mask: int) -> None:
    assert _port_counters.error_mask(abilities) == mask
