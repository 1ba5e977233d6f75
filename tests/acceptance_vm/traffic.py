# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Traffic between two machines that lasts, and what the kernel reports about their links meanwhile."""

from __future__ import annotations

import shlex
import typing as t

from cluster import Cluster
from interfaces import run, within

_PORT = 4711
_SERVER = (
    """
import socket, threading
def echo(there):
    while True:
        there.sendall(there.recv(1))
listener = socket.create_server(("", %d))
while True:
    threading.Thread(target=echo, args=listener.accept()[:1], daemon=True).start()
"""
    % _PORT
)
# One connection, which counts what has come back.
_CLIENT = (
    """
import socket, sys, time
while True:
    try:
        here = socket.create_connection((sys.argv[1], %d))
        break
    except OSError:
        # The other machine does not listen yet.
        time.sleep(0.2)
count = 0
while True:
    here.sendall(b"x")
    assert here.recv(1) == b"x"
    count += 1
    with open("/run/stream-" + sys.argv[1], "w") as file:
        file.write(str(count))
    time.sleep(0.1)
"""
    % _PORT
)
# What the present process of a unit has said, not an earlier one.
_SAID = "journalctl --output=cat _SYSTEMD_INVOCATION_ID=$(systemctl show --property=InvocationID --value %s)"


class Traffic:
    """A TCP connection from node1 to each address of node2 and a ping every 50 ms to the first one, while links and addresses of both are watched."""

    def __init__(self, cluster: Cluster, addresses: t.Sequence[str]) -> None:
        self._cluster, self._addresses = cluster, addresses
        for node in ("node1", "node2"):
            run(cluster, node, "systemd-run --quiet --unit=watch ip -oneline monitor link address")
        run(cluster, "node2", "systemd-run --quiet --unit=server python3 -c %s" % shlex.quote(_SERVER))
        for address in addresses:
            run(cluster, "node1", "systemd-run --quiet --unit=stream-%s python3 -c %s %s" % (address, shlex.quote(_CLIENT), address))
        run(cluster, "node1", "systemd-run --quiet --unit=ping ping -D -i 0.05 %s" % addresses[0])
        assert all(within(600, lambda a=a: self.count(a) > 0) for a in addresses)  # type: ignore[misc]

    def count(self, address: str) -> int:
        """Return how many bytes have come back over the connection; -1 once it is lost."""
        said = run(self._cluster, "node1", "systemctl is-active --quiet stream-%s && { cat /run/stream-%s || echo 0; } || echo -1" % (address, address))
        return int(said or 0)

    def goes_on(self) -> bool:
        """Return whether all connections carry data, now as before."""
        before = {address: self.count(address) for address in self._addresses}
        return -1 not in before.values() and all(within(600, lambda a=a: self.count(a) > before[a]) for a in self._addresses)  # type: ignore[misc]

    def events(self, *names: str) -> dict[str, list[str]]:
        """Return what was reported about these interfaces since then, by node."""
        found = {}
        for node in ("node1", "node2"):
            lines = run(self._cluster, node, _SAID % "watch").splitlines()
            found[node] = [line for line in lines if any(": %s" % name in line for name in names)]
        return found

    def failures(self) -> list[str]:
        """Return what ping said besides replies: the kernel had no route, no address or no link for a packet."""
        return [line for line in run(self._cluster, "node1", _SAID % "ping").splitlines() if "bytes from" not in line and not line.startswith("PING")]

    def end(self) -> None:
        for node in ("node1", "node2"):
            run(self._cluster, node, "systemctl stop ping 'stream-*' server watch 2>/dev/null; systemctl reset-failed; rm -f /run/stream-*")
