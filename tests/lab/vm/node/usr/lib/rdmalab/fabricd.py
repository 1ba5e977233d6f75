#!/usr/bin/python3
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connects the adapters' driver to the simulator on machines whose ports a real subnet manager manages.

The driver passes outgoing management datagrams and receives incoming ones (/dev/ibdummy, fabric.c). Each port is a client of the simulator, like a program in a
container (simulator/relay.py). The simulator answers for the adapter and holds the state of its ports, so that state is polled twice a second and passed to the
driver when it changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import selectors
import socket
import struct
import sys
import time
import typing as t

DEVICE = "/dev/ibdummy"
PORTS = pathlib.Path("/etc/lab/fabric.json")
SIMULATOR = pathlib.Path("/etc/lab/simulator")
TCP_PORT = 7070
POLL_SECONDS = 0.5
SILENT_SECONDS = 10.0

MAD, ASK, SM, PORT = 1, 2, 3, 4
DIRECTED = 0x81
TRAP_REPRESS = 0x07
PERMISSIVE = 0xFFFF
MAD_SIZE = 256

_RECORD = struct.Struct("<BBBBHHI256s")
_ADDRESS = struct.Struct(">HHHHIIIIQ")
_CONTROL = struct.Struct("=IIII64s")
_CLIENT = struct.Struct("=III32s")
_LENGTH = struct.Struct(">H")
_MAGIC = 0xDEADBEEF
ERROR, CONNECT, GET_PORTINFO, SET_ISSM, GET_PKEYS, REGISTRATIONS = 0, 1, 8, 9, 10, 100
UNPLUGGED = bytes(32) + b"\x01\x20" + bytes(30) + b"\xff\xff"
"""PortInfo and P_Keys of an uncabled port: Down, Polling."""


class Record(t.NamedTuple):
    """A message between the driver and this program."""

    kind: int
    hca: int
    port: int
    flag: int = 0
    lid: int = 0
    queue_pair: int = 0
    cookie: int = 0
    data: bytes = b""

    def pack(self) -> bytes:
        return _RECORD.pack(self.kind, self.hca, self.port, self.flag, self.lid, self.queue_pair, self.cookie, self.data)


def parse_record(text: bytes) -> Record:
    kind, hca, port, flag, lid, queue_pair, cookie, data = _RECORD.unpack(text)
    return Record(kind, hca, port, flag, lid, queue_pair, cookie, data)


def is_answer(mad: bytes) -> bool:
    return bool(mad[3] & 0x80) or mad[3] == TRAP_REPRESS


def transaction(mad: bytes) -> bytes:
    """Return the common key of a request and its answer, without the first two bytes of the ID, which the simulator overwrites."""
    return mad[1:2] + mad[10:16]


class Translator:
    """Converts the datagrams of one port between the kernel's format and the simulator's. Pure.

    Directed routes differ: the simulator walks the path itself and leaves the hop pointer at 0.
    """

    def __init__(self, hca: int, port: int) -> None:
        self.hca, self.port = hca, port
        self.asked: dict[bytes, int] = {}
        """Requests of this machine to its own adapter, by transaction: the driver waits for the answer with a cookie."""

    def to_fabric(self, record: Record) -> bytes:
        mad = record.data
        directed = mad[1] == DIRECTED
        if directed:
            mad = mad[:6] + bytes(1) + mad[7:]
        if record.kind == ASK:
            self.asked[transaction(mad)] = record.cookie
        lid = PERMISSIVE if directed else record.lid
        source = PERMISSIVE if directed else 0
        queue_pair = 0 if mad[1] in (1, DIRECTED) else 1
        return _ADDRESS.pack(lid, 0, source, 0, queue_pair, queue_pair, 0, 0, MAD_SIZE) + mad

    def to_kernel(self, packet: bytes) -> Record | None:
        """Return the record for the driver, None for the simulator's time-out of a lost request: the kernel has its own time-outs."""
        _to, _, lid, _, _to_queue_pair, queue_pair, status, _, _ = _ADDRESS.unpack_from(packet)
        mad = packet[_ADDRESS.size :]
        cookie = None
        if is_answer(mad) or status:
            cookie = self.asked.pop(transaction(mad), None)
            mad = mad[:8] + bytes(2) + mad[10:]
        if status:
            return None
        if mad[1] == DIRECTED and not is_answer(mad):
            mad = mad[:6] + mad[7:8] + mad[7:]
        if cookie is not None:
            return Record(ASK, self.hca, self.port, cookie=cookie, data=mad)
        return Record(MAD, self.hca, self.port, lid=lid, queue_pair=queue_pair, data=mad)


class State:
    """The last port state passed to the driver. Pure."""

    def __init__(self, hca: int, port: int) -> None:
        self.hca, self.port = hca, port
        self.told = b""
        self.registrations: int | None = None

    def news(self, info: bytes, pkeys: bytes, registrations: int) -> Record | None:
        """Return a record for the driver if the state has changed. Reregistration requests during a lost connection are unknown."""
        again = registrations != self.registrations
        self.registrations = registrations
        if info + pkeys == self.told and not again:
            return None
        self.told = info + pkeys
        return Record(PORT, self.hca, self.port, flag=int(again), data=self.told)

    def lost(self) -> Record:
        self.told, self.registrations = b"", None
        return Record(PORT, self.hca, self.port, data=UNPLUGGED)


class Line:
    """The connection of one port to the simulator, which may be down."""

    def __init__(self, driver: Driver, hca: int, port: int, node_id: str) -> None:
        self.driver, self.node_id = driver, node_id
        self.translator, self.state = Translator(hca, port), State(hca, port)
        self.stream: socket.socket | None = None
        self.waiting = b""
        self.number: int | None = None
        self.sm = False
        self.answers: dict[int, bytes] = {}
        self.next_poll = self.heard = 0.0

    def connect(self, address: str) -> None:
        self.stream = socket.create_connection((address, TCP_PORT), timeout=5)
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting, self.heard = b"", time.monotonic()
        self.driver.selector.register(self.stream, selectors.EVENT_READ, self.read)
        self.control(CONNECT, _CLIENT.pack(0, 0, 0, self.node_id.encode()))

    def close(self, why: object) -> None:
        print("%s: %s" % (self.node_id, why), file=sys.stderr, flush=True)
        if self.stream:
            with contextlib.suppress(KeyError):
                self.driver.selector.unregister(self.stream)
            self.stream.close()
        self.stream = self.number = None
        self.driver.tell(self.state.lost())

    def send(self, packet: bytes) -> None:
        if self.stream:
            try:
                self.stream.sendall(_LENGTH.pack(len(packet)) + packet)
            except OSError as exc:
                self.close(exc)

    def control(self, kind: int, data: bytes = b"") -> None:
        self.send(_CONTROL.pack(_MAGIC, self.number or 0, kind, len(data), data))

    def turn(self, now: float) -> None:
        """Run pending work: connect, and poll the state of the port."""
        if now < self.next_poll:
            return
        self.next_poll = now + POLL_SECONDS
        if not self.stream:
            try:
                self.connect(SIMULATOR.read_text().strip())
            except OSError as exc:
                self.close(exc)
                self.next_poll = now + 2
        elif now > self.heard + SILENT_SECONDS:
            self.close("the simulator is silent")
        elif self.number is not None:
            for kind in (GET_PORTINFO, GET_PKEYS, REGISTRATIONS):
                self.control(kind, bytes(1))

    def read(self) -> None:
        assert self.stream
        try:
            chunk = self.stream.recv(65536)
        except OSError as exc:
            self.close(exc)
            return
        if not chunk:
            self.close("the simulator hung up")
            return
        self.heard = time.monotonic()
        self.waiting += chunk
        while len(self.waiting) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self.waiting)[0]
            if len(self.waiting) < end:
                break
            packet, self.waiting = self.waiting[_LENGTH.size : end], self.waiting[end:]
            self.take(packet)

    def take(self, packet: bytes) -> None:
        if len(packet) != _CONTROL.size:
            record = self.translator.to_kernel(packet)
            if record:
                self.driver.tell(record)
            return
        _magic, _number, kind, _length, data = _CONTROL.unpack(packet)
        if kind == ERROR:
            self.close("the simulator refuses")
        elif kind == CONNECT:
            self.number = _CLIENT.unpack_from(data)[0]
            print("%s: on the fabric" % self.node_id, file=sys.stderr, flush=True)
            if self.sm:
                self.set_sm(True)
        else:
            self.answers[kind] = data
            if kind == REGISTRATIONS and len(self.answers.keys() & {GET_PORTINFO, GET_PKEYS}) == 2:
                news = self.state.news(self.answers[GET_PORTINFO], self.answers[GET_PKEYS], struct.unpack_from("=I", data)[0])
                self.answers.clear()
                if news:
                    self.driver.tell(news)

    def set_sm(self, sm: bool) -> None:
        self.sm = sm
        if self.number is not None:
            self.control(SET_ISSM, struct.pack("=I", sm))

    def from_kernel(self, record: Record) -> None:
        if record.kind == SM:
            self.set_sm(bool(record.flag))
        elif self.number is not None:
            self.send(self.translator.to_fabric(record))
            # A request of this machine to its own port may change the state, so poll soon.
            if record.kind == ASK:
                self.next_poll = min(self.next_poll, time.monotonic() + 0.05)


class Driver:
    def __init__(self, ports: t.Iterable[tuple[int, int, str]]) -> None:
        self.selector = selectors.DefaultSelector()
        self.device = os.open(DEVICE, os.O_RDWR)
        self.selector.register(self.device, selectors.EVENT_READ, self.read)
        self.lines = {(hca, port): Line(self, hca, port, node_id) for hca, port, node_id in ports}

    def read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            record = parse_record(os.read(self.device, _RECORD.size))
            if (record.hca, record.port) in self.lines:
                self.lines[record.hca, record.port].from_kernel(record)

    def tell(self, record: Record) -> None:
        try:
            os.write(self.device, record.pack())
        except OSError as exc:  # an adapter without its driver
            print("%d/%d: %s" % (record.hca, record.port, exc), file=sys.stderr, flush=True)

    def serve(self) -> t.NoReturn:
        while True:
            now = time.monotonic()
            for line in self.lines.values():
                line.turn(now)
            wait = min([line.next_poll for line in self.lines.values()], default=now + 60) - time.monotonic()
            for key, _events in self.selector.select(max(0.0, wait)):
                key.data()


if __name__ == "__main__":
    Driver([(hca, port, node_id) for hca, port, node_id in json.loads(PORTS.read_text())]).serve()
