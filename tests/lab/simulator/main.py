#!/usr/bin/python3
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator container: ibsim, the gateway in front of it, and a console.

Without arguments it runs the service. With arguments it passes them to the service as one console command (of ibsim, or `slow MILLISECONDS`, `slow`,
`sessions`) and prints the answer.
"""

from __future__ import annotations

import pathlib
import re
import selectors
import signal
import socket
import sys
import time
import types

import relay
import smp
from cabling import Cabling
from gateway import IBSIM_PORT, PORT, Gateway
from ibsim import Ibsim

CONSOLE = pathlib.Path("/run/lab-console")
TOPOLOGY = pathlib.Path("/etc/lab/fabric.topo")
STATE = pathlib.Path("/var/lib/lab")


def command(line: str, ibsim: Ibsim, gateway: Gateway) -> str:
    words = line.split()
    if words[:1] == ["slow"]:
        if len(words) > 1:
            gateway.delay = float(words[1]) / 1000
        return "%g\n" % (gateway.delay * 1000)
    if words[:1] == ["sessions"]:
        rows = sorted(gateway.sessions.values(), key=lambda session: session.number)
        return "".join("%d %s:%d %s place %s%s\n" % (s.number, *s.peer, s.node_id.rstrip(b"\0").decode(), s.place, " SM" if s.sm else "") for s in rows)
    return ibsim.command(line)


def mtu(topology: str) -> int:
    """Return the MTU code of the comment '# lab fabric mtu=4096', 0 without one."""
    found = re.search(r"^#\s*lab\s+fabric\s(?:.*\s)?mtu=(\d+)\b", topology, re.MULTILINE)
    return smp.MTU_CODES[found[1]] if found else 0


def serve() -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    CONSOLE.unlink(missing_ok=True)
    console = socket.socket(socket.AF_UNIX)
    console.bind(str(CONSOLE))
    console.listen()
    selector = selectors.DefaultSelector()
    ibsim = Ibsim(TOPOLOGY, IBSIM_PORT, STATE / "faults.json")
    gateway = Gateway(selector, STATE / "sessions.json")
    topology = TOPOLOGY.read_text(encoding="utf-8")
    gateway.mtu, gateway.cabling = mtu(topology), Cabling(topology)
    relay.listen(selector, PORT)

    def on_console() -> None:
        connection, _ = console.accept()
        with connection:
            connection.settimeout(5)
            connection.sendall(command(connection.recv(4096).decode(), ibsim, gateway).encode())

    selector.register(console, selectors.EVENT_READ, on_console)
    try:
        turn(selector, ibsim, gateway)
    finally:
        gateway.save()


def turn(selector: selectors.BaseSelector, ibsim: Ibsim, gateway: Gateway) -> None:
    kept = 0.0
    while True:
        if not ibsim.running():
            ibsim.start()
            gateway.restore()
            kept = 0.0
        if time.monotonic() > kept + 0.5:
            gateway.keep()
            kept = time.monotonic()
        due = gateway.due()
        for key, _ in selector.select(0.5 if due is None else min(due, 0.5)):
            try:
                key.data()
            except OSError as exc:  # also if an earlier one of this round closed it
                print("lab: %s" % exc, file=sys.stderr, flush=True)


def ask(line: str) -> int:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(CONSOLE))
            connection.sendall(line.encode())
            while chunk := connection.recv(65536):
                sys.stdout.write(chunk.decode())
    except OSError as exc:
        print("the simulator does not answer: %s" % exc, file=sys.stderr)
        return 1
    return 0


def stop(number: int, frame: types.FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(ask(" ".join(sys.argv[1:])))
    signal.signal(signal.SIGTERM, stop)
    serve()
