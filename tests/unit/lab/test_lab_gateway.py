# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import pathlib
import selectors
import socket
import struct
import threading
import typing as t

import lab_gateway
import pytest
import smp


class Ibsim:
    """Assigns ten slots and reports the slot of each request; `told` records what it received."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.taken: set[int] = set()
        self.told: list[tuple[int, int]] = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            packet, sender = self.socket.recvfrom(256)
            magic, client, kind, length, data = lab_gateway.CONTROL.unpack(packet)
            self.told.append((kind, client))
            if kind == lab_gateway.CONNECT:
                place = next((place for place in range(lab_gateway.IBSIM_PLACES) if place not in self.taken), None)
                if place is None:
                    kind = lab_gateway.ERROR
                else:
                    self.taken.add(place)
                    data = struct.pack("=I", place) + data[4:]
            elif kind == lab_gateway.DISCONNECT:
                self.taken.discard(client)
            self.socket.sendto(lab_gateway.CONTROL.pack(magic, client, kind, length, data), sender)


PORTS = 40
"""A gateway uses one port, plus one per session."""


def free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True


@pytest.fixture
def first_port() -> t.Iterator[int]:
    """Yield the first of a range of free ports. Parallel runs of these tests avoid it, and the kernel's ephemeral ports are higher."""
    for first in range(10000, 20000, 100):
        with socket.socket() as sign:
            try:
                sign.bind(("127.0.0.1", first))
            except OSError:
                continue
            if all(free(first + number) for number in range(PORTS)):
                yield first
                return
    raise AssertionError("no free ports from 10000 to 19999")


@pytest.fixture
def gateway(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, first_port: int) -> t.Iterator[lab_gateway.Gateway]:
    ibsim = Ibsim()
    monkeypatch.setattr(lab_gateway, "IBSIM_PORT", ibsim.socket.getsockname()[1])
    monkeypatch.setattr(lab_gateway, "PORT", first_port)
    made = lab_gateway.Gateway(selectors.DefaultSelector(), tmp_path / "sessions.json")
    made.ibsim.settimeout(60)
    made.simulated = ibsim
    yield made
    for session in list(made.sessions.values()):
        made.close(session)
    made.control.close()


def connect(gateway: lab_gateway.Gateway, port: int) -> int:
    number, kind, _answer = gateway.connect(lab_gateway.CLIENT_INFO.pack(port, 0, 0, b"node1").ljust(64, b"\0"), ("127.0.0.1", port))
    assert kind == lab_gateway.CONNECT
    return int(number)


def test_more_clients_than_places(gateway: lab_gateway.Gateway) -> None:
    numbers = [connect(gateway, 30000 + n) for n in range(25)]
    assert numbers == list(range(25))
    placed = [session for session in gateway.sessions.values() if session.place is not None]
    assert sorted(session.place for session in placed) == list(range(10))
    assert [session.number for session in placed] == list(range(15, 25))


def test_a_subnet_manager_keeps_its_place(gateway: lab_gateway.Gateway) -> None:
    first = gateway.sessions[connect(gateway, 30000)]
    gateway.set_sm(first, True)
    for n in range(1, 25):
        connect(gateway, 30000 + n)
    assert first.place == 0


def test_a_killed_client_gives_its_port_to_the_next(gateway: lab_gateway.Gateway) -> None:
    connect(gateway, 30000)
    connect(gateway, 30000)
    assert len(gateway.sessions) == 1


def test_sessions_outlive_a_restart(gateway: lab_gateway.Gateway) -> None:
    session = gateway.sessions[connect(gateway, 30000)]
    gateway.set_sm(session, True)
    gateway.save()
    gateway.close(session)
    gateway.simulated.taken.clear()
    gateway.restore()
    assert [(s.peer, s.sm, s.place) for s in gateway.sessions.values()] == [(("127.0.0.1", 30000), True, None)]
    gateway.keep()
    assert [s.place for s in gateway.sessions.values()] == [0]
    assert gateway.simulated.told[-1] == (lab_gateway.SET_ISSM, 0)


def test_a_request_without_an_answer_times_out(gateway: lab_gateway.Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind(("127.0.0.1", 0))
        client.settimeout(60)
        session = gateway.sessions[connect(gateway, client.getsockname()[1])]
        monkeypatch.setattr(lab_gateway, "ANSWER_SECONDS", -1.0)
        request = bytearray(288)
        request[33], request[35] = 0x81, 0x01
        gateway.to_ibsim(session, bytes(request))
        gateway.keep()
        answer = client.recv(512)
    assert answer[16:20] == struct.pack(">I", 110)
    assert answer[20:] == bytes(request[20:])
    assert session.asked == {}


def test_a_trap_is_answered_by_who_represses_it(gateway: lab_gateway.Gateway) -> None:
    """ibsim drops that answer, and a subnet manager waits for it before it continues."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind(("127.0.0.1", 0))
        client.settimeout(60)
        standby = gateway.sessions[connect(gateway, client.getsockname()[1])]
        master = gateway.sessions[connect(gateway, 30001)]
        trap = bytearray(288)
        trap[33], trap[35], trap[47] = 0x01, 0x05, 9
        gateway.to_ibsim(standby, bytes(trap))
        trap[35] = lab_gateway.TRAP_REPRESS
        gateway.to_ibsim(master, bytes(trap))
        assert client.recv(512) == bytes(trap)
    assert standby.asked == {}


GENERAL_INFO = 0xFF17
"""An attribute of one vendor's devices."""


def request(attribute: int, method: int = 0x01, management_class: int = 0x81) -> bytes:
    """Return a directed-route request of subnet management."""
    packet = bytearray(288)
    packet[:4] = b"way "
    packet[32:36] = bytes([1, management_class, 1, method])
    packet[38:48] = bytes([0, 2, *struct.pack(">Q", 0x1234)])
    packet[48:56] = struct.pack(">HHI", attribute, 0, 7)
    packet[96:160] = b"d" * 64
    packet[160:163] = b"\0\1\2"
    return bytes(packet)


@contextlib.contextmanager
def answering(gateway: lab_gateway.Gateway) -> t.Iterator[tuple[socket.socket, socket.socket, lab_gateway.Session]]:
    """Yield a client, and a simulator that receives its datagrams."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as simulator:
        for end in (client, simulator):
            end.bind(("127.0.0.1", 0))
            end.settimeout(60)
        session = gateway.sessions[connect(gateway, client.getsockname()[1])]
        session.back.connect(simulator.getsockname())
        simulator.connect(session.back.getsockname())
        session.back.setblocking(True)
        yield client, simulator, session


@pytest.mark.parametrize("method", [lab_gateway.GET, lab_gateway.SET])
def test_an_attribute_that_ibsim_does_not_know_is_refused_as_a_device_does(gateway: lab_gateway.Gateway, method: int) -> None:
    """ibsim drops such a request, and the vendor's subnet manager then drops the device."""
    sent = request(GENERAL_INFO, method)
    with answering(gateway) as (client, simulator, session):
        gateway.to_ibsim(session, sent)
        asked = bytearray(simulator.recv(512))
        assert bytes(asked[48:56]) == struct.pack(">HHI", lab_gateway.NODE_INFO, 0, 0)
        assert (asked[35], asked[:35], asked[36:48], asked[160:]) == (lab_gateway.GET, sent[:35], sent[36:48], sent[160:])
        # The return path and the node's own fields.
        asked[:4], asked[35], asked[36], asked[38], asked[96:160] = b"back", 0x81, 0x80, 3, b"n" * 64
        simulator.send(asked)
        gateway.from_ibsim(session)
        answer = client.recv(512)
    assert (answer[:4], answer[35], answer[36:38], answer[38]) == (b"back", 0x81, b"\x80\x0c", 3)
    assert answer[40:56] == sent[40:56]
    assert answer[96:160] == sent[96:160]
    assert session.asked == {}


def test_a_node_that_is_away_refuses_nothing(gateway: lab_gateway.Gateway) -> None:
    sent = request(GENERAL_INFO)
    with answering(gateway) as (client, simulator, session):
        gateway.to_ibsim(session, sent)
        lost = bytearray(simulator.recv(512))
        lost[16:20] = lab_gateway.TIMED_OUT
        simulator.send(lost)
        gateway.from_ibsim(session)
        assert client.recv(512) == sent[:16] + lab_gateway.TIMED_OUT + sent[20:]


@pytest.mark.parametrize(
    "packet",
    [request(0x15), request(0x20), request(0xFF90), request(GENERAL_INFO, 0x05), request(GENERAL_INFO, management_class=0x04)],
    ids=["PortInfo", "SMInfo", "extended PortInfo", "a trap", "performance"],
)
def test_what_ibsim_knows_goes_to_it(gateway: lab_gateway.Gateway, packet: bytes) -> None:
    with answering(gateway) as (client, simulator, session):
        gateway.to_ibsim(session, packet)
        assert simulator.recv(512) == packet
        answer = bytearray(packet)
        answer[35] |= lab_gateway.RESPONSE
        simulator.send(answer)
        gateway.from_ibsim(session)
        # The gateway corrects wrong fields of PortInfo.
        assert client.recv(512) == smp.of_a_card(bytes(answer), 0)
