# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pure parts of the program in the container of a rehearsal, and the datagrams that it passes on."""

from __future__ import annotations

import collections.abc
import importlib.util
import os
import pathlib
import socket
import struct
import threading
import typing as t

import pytest

PATH = pathlib.Path(__file__).resolve().parents[3] / "playbooks/files/rehearse/rehearsal.py"
DISCOVERED = """\
Switch\t36 "S-0000000000000010"\t\t# "a" base port 0 lid 3 lmc 0
[1]\t"H-0000000000000020"[1](21)\t\t# "node1" lid 1 4xEDR
[2]\t"S-0000000000000011"[2]\t\t# "b" lid 4 4xEDR

Switch\t36 "S-0000000000000011"\t\t# "b" base port 0 lid 4 lmc 0
[1]\t"H-0000000000000030"[1](31)\t\t# "node2" lid 2 4xEDR
[2]\t"S-0000000000000010"[2]\t\t# "a" lid 3 4xEDR

Ca\t1 "H-0000000000000020"\t\t# "node1"
[1](21)\t"S-0000000000000010"[1]\t\t# lid 1 lmc 0 "a" lid 3 4xEDR

Ca\t1 "H-0000000000000030"\t\t# "node2"
[1](31)\t"S-0000000000000011"[1]\t\t# lid 2 lmc 0 "b" lid 4 4xEDR
"""
TABLES = """\
Unicast lids [0x0-0x4] of switch DR path slid 0; dlid 0; 0,1 guid 0x0000000000000010 (a):
  Lid  Out   Destination
       Port     Info
0x0001 001 : (Channel Adapter portguid 0x0000000000000021: 'node1')
0x0002 002 : (Channel Adapter portguid 0x0000000000000031: 'node2')
Unicast lids [0x0-0x4] of switch DR path slid 0; dlid 0; 0,1,2 guid 0x0000000000000011 (b):
0x0001 002 : (Channel Adapter portguid 0x0000000000000021: 'node1')
0x0002 001 : (Channel Adapter portguid 0x0000000000000031: 'node2')
"""
A, B = "0000000000000010", "0000000000000011"


def program() -> t.Any:
    spec = importlib.util.spec_from_file_location("rehearsal", PATH)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAM = program()


def test_every_pair_has_a_route() -> None:
    ends, cables = PROGRAM.discovered(DISCOVERED)
    assert [(end.guid, end.switch, end.lid) for end in ends] == [("0000000000000021", A, 1), ("0000000000000031", B, 2)]
    tables = PROGRAM.parse_tables(TABLES.splitlines())
    assert tables == {A: {1: 1, 2: 2}, B: {1: 2, 2: 1}}
    assert PROGRAM.unroutable(tables, cables, ends) == (2, 0, [])


def test_pairs_without_a_route_are_counted() -> None:
    ends, cables = PROGRAM.discovered(DISCOVERED)
    tables = PROGRAM.parse_tables(TABLES.splitlines())
    # A missing entry, a loop between the switches, and a port without a cable.
    for lost in ({1: 1}, {1: 1, 2: 9}, {1: 1, 2: 255}):
        assert PROGRAM.unroutable({**tables, A: lost}, cables, ends) == (2, 1, [("0000000000000021", "0000000000000031")])
    assert PROGRAM.unroutable({**tables, B: {1: 2, 2: 2}}, cables, ends)[1] == 1
    assert PROGRAM.unroutable({}, cables, ends)[1] == 2


def test_a_request_and_its_answer_belong_together() -> None:
    head = bytes(32)
    asked = head + bytes([1, 0x81, 1, 0x01]) + bytes(4) + bytes([0, 0, 9, 9, 1, 2, 3, 4]) + bytes(208)
    told = head + bytes([1, 0x81, 1, 0x81]) + bytes(4) + bytes([0, 7, 9, 9, 1, 2, 3, 4]) + bytes(208)
    other = head + bytes([1, 0x81, 1, 0x81]) + bytes(4) + bytes([0, 7, 9, 9, 1, 2, 3, 5]) + bytes(208)
    assert PROGRAM.transaction(asked) == PROGRAM.transaction(told) != PROGRAM.transaction(other)


class Simulator:
    """Numbers its clients from 0 on, like ibsim, and answers no datagram by itself."""

    def __init__(self) -> None:
        self.control = PROGRAM.bound(PROGRAM.INSIDE, "ctl")
        self.sides = [PROGRAM.bound(PROGRAM.INSIDE, "out%d" % number) for number in range(2)]
        for side in self.sides:
            side.settimeout(5)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        for number, side in enumerate(self.sides):
            packet, sender = self.control.recvfrom(512)
            side.connect(PROGRAM.address(PROGRAM.INSIDE, "in%d" % struct.unpack_from("=I", packet, PROGRAM.CONTROL_HEAD)))
            self.control.sendto(packet[: PROGRAM.CONTROL_HEAD] + struct.pack("=I", number) + packet[PROGRAM.CONTROL_HEAD + 4 :], sender)


def client(process: int) -> socket.socket:
    """Return the data socket of a program that has joined."""
    data, control = (PROGRAM.bound(PROGRAM.OUTSIDE, part % process) for part in ("in%d", "ctl%d"))
    for side in (data, control):
        side.settimeout(5)
    control.connect(PROGRAM.address(PROGRAM.OUTSIDE, "ctl"))
    control.send(struct.pack("=IIII64s", PROGRAM.MAGIC, 0, PROGRAM.CONNECT, 44, struct.pack("=III32s", process, 0, 0, b"H-1")))
    number = struct.unpack_from("=I", control.recv(512), PROGRAM.CONTROL_HEAD)[0]
    data.connect(PROGRAM.address(PROGRAM.OUTSIDE, "out%d" % number))
    control.close()
    return t.cast("socket.socket", data)


def datagram(method: int, transaction: int) -> bytes:
    return bytes(32) + bytes([1, 0x81, 1, method]) + bytes(4) + struct.pack(">Q", transaction) + bytes(240)


@pytest.fixture
def relayed(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> collections.abc.Iterator[tuple[Simulator, socket.socket, socket.socket]]:
    monkeypatch.setattr(PROGRAM, "ANSWER_SECONDS", 0.4)
    # The threads of the relay end with the process, so each test has names of its own.
    for name in ("OUTSIDE", "INSIDE"):
        monkeypatch.setattr(PROGRAM, name, "%s-%d-%s" % (name, os.getpid(), tmp_path.name[-40:]))
    simulator, relay = Simulator(), PROGRAM.Relay()
    relay.start()
    one, other = client(71), client(72)
    yield simulator, one, other
    for side in (one, other, *simulator.sides, simulator.control):
        side.close()


def test_a_datagram_without_an_answer_is_answered_by_a_time_out(relayed: tuple[Simulator, socket.socket, socket.socket]) -> None:
    simulator, one, _other = relayed
    one.send(datagram(0x01, 5))
    assert simulator.sides[0].recv(512) == datagram(0x01, 5)
    simulator.sides[0].send(datagram(0x81, 5))
    assert one.recv(512) == datagram(0x81, 5)
    one.send(datagram(0x01, 6))
    late = one.recv(512)
    assert (late[16:20], late[40:48]) == (PROGRAM.TIMED_OUT, struct.pack(">Q", 6))


def test_the_answer_to_a_trap_is_delivered(relayed: tuple[Simulator, socket.socket, socket.socket]) -> None:
    simulator, standby, master = relayed
    standby.send(datagram(0x05, 7))
    assert simulator.sides[0].recv(512) == datagram(0x05, 7)
    simulator.sides[1].send(datagram(0x05, 7))
    assert master.recv(512) == datagram(0x05, 7)
    # ibsim would drop it.
    master.send(datagram(PROGRAM.TRAP_REPRESS, 7))
    assert standby.recv(512) == datagram(PROGRAM.TRAP_REPRESS, 7)
