# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries the state of a port from ibsim over its control channel (UDP, structures of ibsim.h).

ibsim has ten client slots. The agent occupies one only for the few milliseconds of a query and never has more than one slot request in flight: a stopped
simulator queues the requests, and each would take a slot once it continues.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time

from .portstate import PortState, parse_port_info

PORT = 7070
MAGIC = 0xDEADBEEF
LOST_AFTER = 10.0  # seconds after which an unanswered slot request counts as lost
ERROR, CONNECT, DISCONNECT, GET_PORTINFO, GET_PKEYS = 0, 1, 2, 8, 10
_CONTROL = struct.Struct("=IIII64s")
_CLIENT = struct.Struct("=III32s")


class SimulatorGone(Exception):
    """Nothing listens at the simulator's address, or it does not know the node: there is no cable."""


class SimulatorSilent(Exception):
    """No answer in time; the link may be unchanged."""


class Fabric:
    """The fabric as seen from one port. patience: seconds to wait for an answer."""

    def __init__(self, address: str, node: str, port: int, patience: float = 5.0) -> None:
        self.address = address
        self.node = node
        self.port = port
        self.patience = patience
        self.socket: socket.socket | None = None
        self.asked_for_place = 0.0
        self.node_id = ""  # the node's identifier in the simulator's topology, known after the first answer

    def read(self) -> PortState:
        try:
            place = self._take_place()
            try:
                info = self._ask(GET_PORTINFO, place, bytes([self.port]))
                pkeys = self._ask(GET_PKEYS, place, b"")
            finally:
                self._send(DISCONNECT, place, b"")
            with contextlib.suppress(SimulatorSilent):
                self._wait(DISCONNECT)
        except OSError as exc:
            self._close()
            raise SimulatorGone("%s: %s" % (self.address, exc.strerror or exc)) from None
        return parse_port_info(info, pkeys)

    def _close(self) -> None:
        if self.socket:
            self.socket.close()
        self.socket = None
        self.asked_for_place = 0.0

    def _take_place(self) -> int:
        if self.asked_for_place and time.monotonic() - self.asked_for_place > LOST_AFTER:
            self._close()
        if not self.socket:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.connect((self.address, PORT))
        if not self.asked_for_place:
            me = self.socket.getsockname()[1]
            self._send(CONNECT, 0, _CLIENT.pack(me, 0, 0, self.node.encode()[:31]))
            self.asked_for_place = time.monotonic()
        data = self._wait(CONNECT)
        self.asked_for_place = 0.0
        place, _queue_pair, _is_sm, node_id = _CLIENT.unpack_from(data)
        self.node_id = node_id.partition(b"\0")[0].decode("utf-8", "replace")
        return int(place)

    def _send(self, kind: int, place: int, data: bytes) -> None:
        assert self.socket
        self.socket.send(_CONTROL.pack(MAGIC, place, kind, len(data), data))

    def _wait(self, kind: int) -> bytes:
        """Return the data of the next answer of a kind. Late answers to earlier queries are dropped."""
        assert self.socket
        deadline = time.monotonic() + self.patience
        while True:
            ready, _writable, _failed = select.select([self.socket], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise SimulatorSilent("%s: no answer within %g s" % (self.address, self.patience))
            _magic, _place, answered, _length, data = _CONTROL.unpack(self.socket.recv(_CONTROL.size))
            if answered == kind:
                return bytes(data)
            if answered == ERROR:
                raise OSError(0, "ibsim knows no node %r, or has no place for one more client" % self.node)

    def _ask(self, kind: int, place: int, data: bytes) -> bytes:
        self._send(kind, place, data)
        return self._wait(kind)
