# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gateway between the nodes and ibsim. It speaks ibsim's protocol on both sides.

ibsim serves ten clients at a time, forgets all of them when it restarts, keeps the slot of a killed client, and dies when one client connects from 127.0.0.1
and the next from another address. The gateway gives any number of clients a session each. The ten slots of ibsim go to the active sessions; a subnet manager
keeps its slot; sessions survive a restart of the simulator. Requests without an answer get a time-out, which the kernel generates on a real host: without it,
opensm would wait forever. For an attribute that ibsim lacks, such as a vendor attribute, the gateway answers like a device that does not support it. It also
delays datagrams to simulate a slow fabric.

The protocol (ibsim.h): a control datagram has magic, client, type, length and 64 bytes of data. A connecting client names its own data port and sends its
management datagrams from there to the server's port + client + 1. Such a datagram has 32 bytes of addressing, with a status in bytes 16 to 19, before the 256
bytes of the MAD.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import selectors
import socket
import struct
import time
import typing as t

import smp
from cabling import Cabling, Supported

CONTROL = struct.Struct("=IIII64s")
CLIENT_INFO = struct.Struct("=III32s")
ERROR, CONNECT, DISCONNECT, GET_PORTINFO, SET_ISSM = 0, 1, 2, 8, 9
REGISTRATIONS = 100
"""Not in ibsim: number of client reregistrations that a subnet manager requested from the port."""

# Methods that expect an answer: Get, Set, Trap, Report, GetTable, GetTraceTable, GetMulti, Delete.
ASKING = (0x01, 0x02, 0x05, 0x06, 0x12, 0x13, 0x14, 0x15)
GET, SET, GET_RESPONSE = 0x01, 0x02, 0x81
TRAP_REPRESS = 0x07  # answers a trap, for example the one by which a standby reports its priority to the master; ibsim drops it
RESPONSE = 0x80
SUBNET_MANAGEMENT = (0x01, 0x81)
"""The LID-routed and the directed-route class."""
NODE_INFO = 0x11
# Attributes in ibsim's table smp_handlers_array, and SMInfo, which ibsim forwards to a subnet manager.
ATTRIBUTES = (0x10, NODE_INFO, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1B, 0x20, 0xFF90)
UNSUPPORTED_ATTRIBUTE = 0x0C
DIRECTION = 0x8000
"""Direction bit, part of the status field in directed-route datagrams."""
TIMED_OUT = struct.pack(">I", 110)
ANSWER_SECONDS = 3.0

PORT = 7070
IBSIM_PORT = 17070
IBSIM_PLACES = 10
MOST_SESSIONS = 400

Address = t.Tuple[str, int]


def transaction(packet: bytes) -> bytes:
    """Return the common key of a request and its answer: management class, and transaction ID without the bytes that ibsim overwrites."""
    return packet[33:34] + packet[42:48]


def is_unknown(packet: bytes) -> bool:
    """Return whether a request is for an attribute that ibsim lacks. ibsim would drop it, or pass it to any client on the node."""
    return packet[33] in SUBNET_MANAGEMENT and packet[35] in (GET, SET) and int.from_bytes(packet[48:50], "big") not in ATTRIBUTES


def probe(packet: bytes) -> bytes:
    """Return a request on the same route that every node answers."""
    return packet[:35] + bytes([GET]) + packet[36:48] + struct.pack(">HHI", NODE_INFO, 0, 0) + packet[56:]


def refusal(request: bytes, answer: bytes) -> bytes:
    """Return the answer of a node that lacks the requested attribute, built from its answer to the probe. The data is that of the request."""
    status = int.from_bytes(answer[36:38], "big") & DIRECTION | UNSUPPORTED_ATTRIBUTE
    return answer[:35] + bytes([GET_RESPONSE]) + struct.pack(">H", status) + answer[38:48] + request[48:56] + answer[56:96] + request[96:160] + answer[160:]


class Session:
    """A client process on a node. `place` is its slot in ibsim, None while it has none."""

    def __init__(self, number: int, peer: Address, node_id: bytes, queue_pair: int, sm: bool) -> None:
        self.number, self.peer, self.node_id, self.queue_pair, self.sm = number, peer, node_id, queue_pair, sm
        self.place: int | None = None
        self.last = time.monotonic()
        self.asked: dict[bytes, tuple[float, bytes]] = {}
        """Unanswered requests by transaction, each with its deadline."""
        self.registering: set[bytes] = set()
        """Those of them that request client reregistration."""
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("0.0.0.0", PORT + number + 1))
        self.front.connect(peer)
        self.front.setblocking(False)
        self.back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.back.bind(("127.0.0.1", 0))
        self.back.setblocking(False)


class Gateway:
    """The sessions and their traffic. `state` is the file in which sessions survive a restart."""

    def __init__(self, selector: selectors.BaseSelector, state: pathlib.Path) -> None:
        self.selector, self.state = selector, state
        self.sessions: dict[int, Session] = {}
        self.dirty = False
        self.delay = 0.0
        """Delay of every client datagram in seconds."""
        self.mtu = 0
        """MTU capability of all ports as a code; 0: that of ibsim."""
        self.cabling = Cabling()
        self.owners: dict[int, str] = {}
        """Node of each LID, learned from answers."""
        self.registrations: dict[int, int] = {}
        """Reregistration requests by LID."""
        self.late: list[tuple[float, t.Callable[[], None]]] = []
        self.control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.control.bind(("0.0.0.0", PORT))
        self.ibsim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.ibsim.bind(("127.0.0.1", 0))
        self.ibsim.connect(("127.0.0.1", IBSIM_PORT))
        self.ibsim.settimeout(2)
        selector.register(self.control, selectors.EVENT_READ, self.on_control)

    # Life of a session

    def restore(self) -> None:
        """Restore the sessions after a restart. All clients still exist, and none has a slot."""
        if self.state.exists() and not self.sessions:
            for number, host, port, node_id, queue_pair, sm, asked in json.loads(self.state.read_text()):
                session = Session(number, (host, port), bytes.fromhex(node_id), queue_pair, sm)
                session.asked = {transaction(packet): (0.0, packet) for packet in map(bytes.fromhex, asked)}
                self.open(session)
        for session in self.sessions.values():
            session.place = None

    def keep(self) -> None:
        """Periodic work: assign slots to subnet managers, send time-outs, save the state file."""
        now = time.monotonic()
        for session in list(self.sessions.values()):
            if session.sm and session.place is None:
                self.attach(session)
            for key, (end, packet) in list(session.asked.items()):
                if end < now:
                    del session.asked[key]
                    session.registering.discard(key)
                    self.to_client(session, packet[:16] + TIMED_OUT + packet[20:])
        if self.dirty:
            self.save()

    def save(self) -> None:
        self.dirty = False
        rows = [[s.number, *s.peer, s.node_id.hex(), s.queue_pair, s.sm, [packet.hex() for _, packet in s.asked.values()]] for s in self.sessions.values()]
        scratch = self.state.with_suffix(".new")
        scratch.write_text(json.dumps(rows))
        scratch.replace(self.state)

    def open(self, session: Session) -> None:
        self.sessions[session.number] = session
        self.dirty = True
        self.selector.register(session.front, selectors.EVENT_READ, lambda: self.from_client(session))
        self.selector.register(session.back, selectors.EVENT_READ, lambda: self.from_ibsim(session))

    def close(self, session: Session) -> None:
        if self.sessions.pop(session.number, None) is session:
            self.dirty = True
            self.detach(session)
            for side in (session.front, session.back):
                self.selector.unregister(side)
                side.close()

    def idle(self) -> list[Session]:
        """Return the sessions that may lose their slot, the longest idle first."""
        return sorted((s for s in self.sessions.values() if not s.sm), key=lambda s: s.last)

    # Slots in ibsim

    def ask(self, client: int, kind: int, data: bytes, length: int) -> tuple[int, int, bytes]:
        """Send a control request to ibsim. Returns client, type and data of the answer; type ERROR also without an answer."""
        self.ibsim.settimeout(0)
        try:
            while self.ibsim.recv(256):  # a late answer to an earlier request
                pass
        except OSError:
            self.ibsim.settimeout(2)
        try:
            self.ibsim.send(CONTROL.pack(0xDEADBEEF, client, kind, length, data))
            _, client, kind, _, data = CONTROL.unpack(self.ibsim.recv(256))
        except (OSError, struct.error):
            return client, ERROR, data
        return client, kind, data

    def attach(self, session: Session) -> bytes | None:
        """Assign a slot to the session, taken from the longest idle one if needed. Returns ibsim's answer to the connect, None if it refused."""
        if session.place is not None:
            return b""
        held = [s for s in self.idle() if s.place is not None]
        if sum(1 for s in self.sessions.values() if s.place is not None) >= IBSIM_PLACES:
            if not held:
                return None
            self.detach(held[0])
        info = CLIENT_INFO.pack(session.back.getsockname()[1], session.queue_pair, 0, session.node_id)
        _place, kind, data = self.ask(0, CONNECT, info, len(info))
        if kind == ERROR:
            return None
        session.place = CLIENT_INFO.unpack_from(data)[0]
        session.back.connect(("127.0.0.1", IBSIM_PORT + session.place + 1))
        if session.sm:
            self.ask(session.place, SET_ISSM, struct.pack("=I", 1), 4)
        return data

    def detach(self, session: Session) -> None:
        if session.place is not None:
            if session.sm:
                self.ask(session.place, SET_ISSM, struct.pack("=I", 0), 4)
            self.ask(session.place, DISCONNECT, b"", 0)
            session.place = None

    # Traffic

    def on_control(self) -> None:
        packet, sender = self.control.recvfrom(256)
        if len(packet) == CONTROL.size:
            self.later(lambda: self.answer(packet, sender))

    def answer(self, packet: bytes, sender: Address) -> None:
        magic, number, kind, length, data = CONTROL.unpack(packet)
        if kind == CONNECT:
            number, kind, data = self.connect(data, sender)
        elif number not in self.sessions:
            kind = ERROR if kind != DISCONNECT else kind
        elif kind == DISCONNECT:
            self.close(self.sessions[number])
        else:
            session = self.sessions[number]
            session.last = time.monotonic()
            if self.attach(session) is None or session.place is None:
                kind = ERROR
            else:
                if kind == SET_ISSM:
                    self.set_sm(session, data[:4] != bytes(4))
                kind, data = self.ask_for(session.place, kind, data, length)
        with contextlib.suppress(OSError):  # the client has exited
            self.control.sendto(CONTROL.pack(magic, number, kind, length, data), sender)

    def ask_for(self, place: int, kind: int, data: bytes, length: int) -> tuple[int, bytes]:
        """Return type and data of the answer to a client's request."""
        if kind == REGISTRATIONS:
            _, told, info = self.ask(place, GET_PORTINFO, bytes(1), 1)
            return (kind if told == GET_PORTINFO else ERROR), struct.pack("=I", self.registrations.get(smp.lid(info), 0))
        _, told, data = self.ask(place, kind, data, length)
        return told, smp.info_of_a_card(data, self.mtu) if told == GET_PORTINFO else data

    def connect(self, data: bytes, sender: Address) -> tuple[int, int, bytes]:
        port, queue_pair, sm, node_id = CLIENT_INFO.unpack_from(data)
        peer = (sender[0], port)
        # A reused port number means that the previous client was killed.
        for session in [s for s in self.sessions.values() if s.peer == peer] or self.idle()[: len(self.sessions) - MOST_SESSIONS + 1]:
            self.close(session)
        number = next(n for n in range(MOST_SESSIONS + IBSIM_PLACES) if n not in self.sessions)
        session = Session(number, peer, node_id, queue_pair, False)
        self.open(session)
        answer = self.attach(session)
        if answer is None:
            self.close(session)
            return 0, ERROR, data
        if sm:
            self.set_sm(session, True)
        _, queue_pair, sm, node_id = CLIENT_INFO.unpack_from(answer)
        return number, CONNECT, CLIENT_INFO.pack(number, queue_pair, sm, node_id).ljust(64, b"\0")

    def set_sm(self, session: Session, sm: bool) -> None:
        """Mark the session as subnet manager or not. A port has one: an older one of the same node was killed."""
        if sm:
            for other in [s for s in self.sessions.values() if s.sm and s is not session]:
                if (other.peer[0], other.node_id) == (session.peer[0], session.node_id):
                    self.close(other)
        session.sm = sm
        self.dirty = True

    def from_client(self, session: Session) -> None:
        packet = self.receive(session, session.front)
        if len(packet) > 48:
            session.last = time.monotonic()
            self.later(lambda: self.to_ibsim(session, packet))

    def to_ibsim(self, session: Session, packet: bytes) -> None:
        if self.sessions.get(session.number) is not session:
            return
        if packet[35] == TRAP_REPRESS:
            self.repress(packet)
            return
        if packet[35] in ASKING:
            session.asked[transaction(packet)] = (time.monotonic() + ANSWER_SECONDS, packet)
            if smp.asks_for_registration(packet):
                session.registering.add(transaction(packet))
        if self.attach(session) is not None:
            with contextlib.suppress(OSError):  # lost, as happens on a fabric
                session.back.send(probe(packet) if is_unknown(packet) else packet)

    def repress(self, packet: bytes) -> None:
        for session in list(self.sessions.values()):
            if session.asked.pop(transaction(packet), None):
                self.to_client(session, packet)

    def from_ibsim(self, session: Session) -> None:
        try:
            packet = session.back.recv(1024)
        except OSError:
            return
        session.last = time.monotonic()
        if packet[35] & RESPONSE or packet[16:20] == TIMED_OUT:
            _until, request = session.asked.pop(transaction(packet), (0.0, b""))
            if request and is_unknown(request):
                packet = request[:16] + TIMED_OUT + request[20:] if packet[16:20] == TIMED_OUT else refusal(request, packet)
            self.note_registration(session, packet)
        self.to_client(session, smp.of_a_card(packet, self.mtu, self.supported(session, packet)))

    def supported(self, session: Session, packet: bytes) -> Supported | None:
        """Return what the port in a PortInfo answer supports, None if that is unknown and for other datagrams."""
        if not smp.is_info(packet):
            return None
        path = smp.path_of(packet)
        if path is None:
            node = self.owners.get(smp.sender_of(packet))
        else:
            node = self.cabling.end_of(session.node_id.rstrip(b"\0").decode(), path)
            if node and smp.lid_of(packet):
                self.owners[smp.lid_of(packet)] = node
        return self.cabling.supported(node, smp.port_of(packet)) if node else None

    def note_registration(self, session: Session, packet: bytes) -> None:
        lid = smp.lid_of(packet)
        if transaction(packet) in session.registering and lid:
            self.registrations[lid] = self.registrations.get(lid, 0) + 1
        session.registering.discard(transaction(packet))

    def to_client(self, session: Session, packet: bytes) -> None:
        try:
            session.front.send(packet)
        except ConnectionRefusedError:
            self.close(session)
        except OSError:
            pass

    def receive(self, session: Session, side: socket.socket) -> bytes:
        try:
            return side.recv(1024)
        except ConnectionRefusedError:
            self.close(session)
        except OSError:
            pass
        return b""

    # Delay

    def later(self, action: t.Callable[[], None]) -> None:
        """Run an action after the delay. The delay is the same for all datagrams, so they stay in order."""
        if self.delay or self.late:
            self.late.append((time.monotonic() + self.delay, action))
        else:
            action()

    def due(self) -> float | None:
        """Run all actions that are due. Returns the seconds until the next one, None if none is queued."""
        while self.late and self.late[0][0] <= time.monotonic():
            self.late.pop(0)[1]()
        return max(0.0, self.late[0][0] - time.monotonic()) if self.late else None
