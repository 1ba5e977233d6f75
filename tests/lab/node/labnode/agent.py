# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent of a lab node. It serves the preload library, follows the state of the fabric, and maintains the sysfs tree and the taps.

One thread owns the tree. Each port has a thread of its own that queries the simulator, so that a slow simulator delays no modprobe.
"""

from __future__ import annotations

import array
import contextlib
import errno
import os
import queue
import selectors
import shutil
import signal
import socket
import struct
import sys
import threading
import time
from typing import NamedTuple

from . import naming
from .kernel import Kernel
from .mads import Receivers
from .node import Hca, Port, read_node
from .portstate import UNPLUGGED, PortState
from .simulator import Fabric, SimulatorGone, SimulatorSilent
from .tree import ROOT, Tree

POLL_SECONDS = 0.7
# A slow simulator leaves the ports unchanged; after this many seconds of silence the fabric counts as dead.
DEAD_AFTER_SECONDS = 30.0
HOUSEKEEPING_SECONDS = 5.0
REQUEST_SIZE = 16384
_RTMGRP_LINK = 1


class Update(NamedTuple):
    hca: Hca
    port: Port
    state: PortState
    node_id: str


def log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Watcher(threading.Thread):
    """Polls the state of one port and reports changes."""

    def __init__(self, simulator: str, hca: Hca, port: Port, updates: queue.Queue[Update], wake: socket.socket) -> None:
        super().__init__(daemon=True)
        self.hca, self.port, self.updates, self.wake = hca, port, updates, wake
        self.fabric = Fabric(simulator, port.node_description, port.number)
        self.known: PortState | None = None
        self.complaint = ""

    def run(self) -> None:
        heard = time.monotonic()
        while True:
            try:
                self._report(self.fabric.read(), "")
                heard = time.monotonic()
            except SimulatorGone as exc:
                self._report(UNPLUGGED, str(exc))
            except SimulatorSilent as exc:
                if time.monotonic() - heard > DEAD_AFTER_SECONDS:
                    self._report(UNPLUGGED, str(exc))
            time.sleep(POLL_SECONDS)

    def _report(self, state: PortState, complaint: str) -> None:
        if complaint != self.complaint:
            log("%s/%d: %s" % (self.hca.device, self.port.number, complaint or "the simulator answers"))
            self.complaint = complaint
        if state != self.known:
            self.known = state
            self.updates.put(Update(self.hca, self.port, state, self.fabric.node_id))
            self.wake.send(b"x")


class Agent:
    def __init__(self) -> None:
        self.tree = Tree()
        # A restart of the agent is not a boot: names stay.
        policy = self.tree.read("naming") or naming.policy()
        self.tree.write("naming", policy)
        self.node = naming.named(read_node(), policy)
        self.kernel = Kernel(self.node, self.tree, log)
        self.selector = selectors.DefaultSelector()
        self.updates: queue.Queue[Update] = queue.Queue()
        self.held: dict[socket.socket, str] = {}
        self.receivers = Receivers()

    def run(self) -> None:
        try:
            self.kernel.boot()
        except ValueError as exc:
            # The lab reads the status and gives up. A restart would fail in the same way.
            log("cannot emulate this node: %s" % exc)
            _notify("STATUS=cannot emulate this node: %s" % exc)
            signal.pause()
        self._watch_links()
        self._watch_ports()
        self._listen()
        _notify("READY=1")
        cleaned = 0.0
        while True:
            for key, _events in self.selector.select(HOUSEKEEPING_SECONDS):
                key.data(key.fileobj)
            self.kernel.watch()
            if time.monotonic() - cleaned > HOUSEKEEPING_SECONDS:
                cleaned = time.monotonic()
                remove_leftovers(self.tree.path("umad2sim"))

    def _listen(self) -> None:
        path = self.tree.path("agent.sock")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen(64)
        self.selector.register(listener, selectors.EVENT_READ, self._accept)

    def _watch_links(self) -> None:
        """Watch link changes, to correct an MTU that is too large at once."""
        links = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        links.bind((0, _RTMGRP_LINK))
        links.setblocking(False)
        self.selector.register(links, selectors.EVENT_READ, _drain)

    def _watch_ports(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.selector.register(ours, selectors.EVENT_READ, self._take_updates)
        for hca in self.node.hcas:
            for port in hca.ports:
                Watcher(self.node.simulator, hca, port, self.updates, theirs).start()

    def _take_updates(self, wake: socket.socket) -> None:
        _drain(wake)
        while not self.updates.empty():
            self.kernel.set_port_state(*self.updates.get())

    def _accept(self, listener: socket.socket) -> None:
        connection, _address = listener.accept()
        self.selector.register(connection, selectors.EVENT_READ, self._serve)

    def _serve(self, connection: socket.socket) -> None:
        """Serve one request of a connection, or its end."""
        try:
            text, fd = _receive(connection)
        except OSError:
            text, fd = "", -1
        if not text:
            self._end(connection)
            return
        try:
            self._obey(connection, text, fd)
            error = 0
        except OSError as exc:
            error = exc.errno or errno.EIO
            if error not in (errno.EEXIST, errno.EINVAL):
                log("%s: %s" % (text.partition("\n")[0], exc))
        finally:
            if fd >= 0:
                os.close(fd)
        with contextlib.suppress(OSError):
            connection.send(b"%d" % error)

    def _end(self, connection: socket.socket) -> None:
        self.selector.unregister(connection)
        connection.close()
        self.receivers.release(connection)
        name = self.held.pop(connection, "")
        if name:
            self.kernel.hold(name, -1)

    def _obey(self, connection: socket.socket, text: str, fd: int) -> None:
        r"""Run one request:

        load FLAGS\nPARAMETERS (with a file), unload FLAGS\nNAME, hold NAME, register CLAIM, store PATH\nTEXT, look (reread the state of the cards).
        """
        head, _newline, body = text.partition("\n")
        verb, _space, argument = head.partition(" ")
        if verb == "hold":
            self.held[connection] = argument
            self.kernel.hold(argument, 1)
            return
        if _user_of(connection) != 0:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        if verb == "register":
            self.receivers.register(connection, argument)
        elif verb == "load":
            self.kernel.load(int(argument), body, _read_all(fd))
        elif verb == "unload":
            self.kernel.unload(body)
        elif verb == "store":
            self.kernel.store(argument, body)
        elif verb == "look":
            self.kernel.watch()
        else:
            raise OSError(errno.ENOSYS, "unknown request %r" % verb)


def _receive(connection: socket.socket) -> tuple[str, int]:
    """Return a request and the file descriptor sent with it, or -1."""
    data, control, _flags, _address = connection.recvmsg(REQUEST_SIZE, socket.CMSG_SPACE(4))
    files = array.array("i")
    for level, kind, payload in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(payload[:4])
    return data.decode("utf-8", "replace"), files[0] if files else -1


def _user_of(connection: socket.socket) -> int:
    return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])


def _read_all(fd: int) -> bytes:
    """Read the whole file, regardless of its current offset."""
    if fd < 0:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _drain(source: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while source.recv(65536):
            pass


def remove_leftovers(directory: str) -> None:
    """Remove umad2sim's copies of sysfs ("sys-PID") that killed processes left behind."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(directory):
            if not os.path.exists("/proc/" + name.rpartition("-")[2]):
                shutil.rmtree(os.path.join(directory, name), ignore_errors=True)


def _notify(text: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifier:
            notifier.connect("\0" + address[1:] if address.startswith("@") else address)
            notifier.send(text.encode())


def main() -> None:
    os.makedirs(ROOT, exist_ok=True)
    Agent().run()
