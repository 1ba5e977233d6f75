# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import struct

import pytest
import smp
from cabling import Cabling, Supported

LAB = pathlib.Path(__file__).resolve().parents[2] / "lab"
CABLING = Cabling((LAB / "topologies/16-nodes.topo").read_text(encoding="utf-8"))
LEAF1, SPINE1, NODE1, NODE3 = "S-0002c90300f00010", "S-0002c90300f00030", "H-0002c90300001000", "H-0002c90300001020"


@pytest.mark.parametrize(("path", "node"), [((), NODE1), ((1,), LEAF1), ((1, 3), NODE3), ((1, 9), SPINE1), ((1, 36), None), ((7,), None)])
def test_a_directed_route_ends_at_a_node(path: tuple[int, ...], node: str | None) -> None:
    assert CABLING.end_of(NODE1, path) == node


def test_a_card_supports_its_link_and_a_switch_the_best_of_its_links() -> None:
    edr, fdr = Supported(0x03, 0x7, 0x3), Supported(0x03, 0x7, 0x1)
    assert [CABLING.supported(node, port) for node, port in ((NODE1, 1), (NODE3, 1), (LEAF1, 3), (LEAF1, 36))] == [edr, fdr, edr, edr]
    assert CABLING.supported(NODE1, 2) is None and Cabling().supported(NODE1, 1) is None


def directed(path: tuple[int, ...], port: int) -> bytes:
    packet = bytearray(32 + 256)
    packet[33], packet[35], packet[39], packet[48:50], packet[52:56] = 0x81, 0x81, len(path), b"\x00\x15", struct.pack(">I", port)
    packet[96 + 28], packet[96 + 30], packet[96 + 32], packet[96 + 62] = 5, 0x1F, 0x74, 0x27
    packet[32 + 128 : 32 + 128 + 1 + len(path)] = bytes([0, *path])
    return bytes(packet)


def test_an_answer_tells_its_way_and_its_port() -> None:
    assert smp.path_of(directed((1, 9, 4), 7)) == (1, 9, 4)
    assert [smp.port_of(directed((1,), port)) for port in (7, 0)] == [7, 5]
    by_lid = bytearray(directed((), 7))
    by_lid[4:6], by_lid[33] = b"\x01\x02", 0x01
    assert smp.path_of(bytes(by_lid)) is None and smp.sender_of(bytes(by_lid)) == 0x0102


def test_what_is_active_and_enabled_stays() -> None:
    info = smp.of_a_card(directed((1,), 7), 0, Supported(0x03, 0x7, 0x1))[96:]
    assert (info[30], info[32], info[62]) == (0x03, 0x74, 0x21)
