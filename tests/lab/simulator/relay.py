# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Relay between virtual machines and the gateway. It carries datagrams over a stream, because the machines' network translates addresses.

Each connection is one client of the gateway. Each datagram is preceded by its length in two bytes. Control datagrams and those with a MAD differ in size.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import typing as t

from gateway import CLIENT_INFO, CONNECT, CONTROL, DISCONNECT

_LENGTH = struct.Struct(">H")
_MAGIC = 0xDEADBEEF
_HEADER = 16
PATIENCE = 2.0
"""Seconds that a send to a machine may take before its connection is closed."""


def framed(packet: bytes) -> bytes:
    return _LENGTH.pack(len(packet)) + packet


def unframed(stream: bytes) -> tuple[list[bytes], bytes]:
    """Split the stream into complete datagrams and the remaining bytes."""
    found = []
    while len(stream) >= _LENGTH.size and len(stream) >= (end := _LENGTH.size + _LENGTH.unpack_from(stream)[0]):
        found.append(stream[_LENGTH.size : end])
        stream = stream[end:]
    return found, stream


def with_port(packet: bytes, port: int) -> bytes:
    """Set the client's data port in a connect request; leave other requests unchanged."""
    if CONTROL.unpack(packet)[2] != CONNECT:
        return packet
    return packet[:_HEADER] + struct.pack("=I", port) + packet[_HEADER + 4 :]


class Line:
    """A port of a virtual machine."""

    def __init__(self, selector: selectors.BaseSelector, stream: socket.socket, gateway: int) -> None:
        self.selector, self.stream, self.gateway = selector, stream, gateway
        self.number: int | None = None
        self.waiting = b""
        self.control, self.data = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.control.connect(("127.0.0.1", gateway))
        self.data.bind(("127.0.0.1", 0))
        stream.settimeout(PATIENCE)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for side, action in ((stream, self.from_machine), (self.control, self.from_control), (self.data, self.from_data)):
            selector.register(side, selectors.EVENT_READ, action)

    def close(self) -> None:
        if self.number is not None:
            self.control.send(CONTROL.pack(_MAGIC, self.number, DISCONNECT, 0, b""))
        for side in (self.stream, self.control, self.data):
            self.selector.unregister(side)
            side.close()

    def from_machine(self) -> None:
        try:
            chunk = self.stream.recv(65536)
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return
        packets, self.waiting = unframed(self.waiting + chunk)
        for packet in packets:
            if len(packet) == CONTROL.size:
                self.control.send(with_port(packet, self.data.getsockname()[1]))
            elif self.number is not None:
                self.data.send(packet)

    def from_control(self) -> None:
        packet = self.control.recv(256)
        _magic, _number, kind, _length, answer = CONTROL.unpack(packet)
        if kind == CONNECT:
            self.number = CLIENT_INFO.unpack_from(answer)[0]
            self.data.connect(("127.0.0.1", self.gateway + self.number + 1))
        self.to_machine(packet)

    def from_data(self) -> None:
        self.to_machine(self.data.recv(1024))

    def to_machine(self, packet: bytes) -> None:
        try:
            self.stream.sendall(framed(packet))
        except OSError:
            with contextlib.suppress(OSError):
                self.stream.shutdown(socket.SHUT_RDWR)


def listen(selector: selectors.BaseSelector, gateway: int) -> socket.socket:
    """Listen on the gateway's own port number, which the gateway uses for UDP."""
    listener = socket.create_server(("0.0.0.0", gateway), backlog=64)

    def accept() -> None:
        stream, _peer = listener.accept()
        Line(selector, stream, gateway)

    selector.register(listener, selectors.EVENT_READ, t.cast(t.Any, accept))
    return listener
