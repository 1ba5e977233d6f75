# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tests of a host pair: their command lines and results. Pure."""

from __future__ import annotations

import typing as t

from .._errors import UnexpectedOutput
from .._tools import _measure

WRITE, SEND, LATENCY, STREAM, PING = "ib_write_bw", "ib_send_bw", "ib_write_lat", "iperf3", "ibping"
TESTS = (WRITE, SEND, LATENCY, STREAM, PING)
"""In the order in which a client runs them. The index determines the TCP port."""
GBPS, USEC = "Gb/s", "us"
PACKAGES: t.Mapping[str, str] = {STREAM: "iperf3", PING: "infiniband-diags"}
"""The other tests are in perftest."""
PINGS = 50
_LATENCY_BYTES, _LATENCY_ITERATIONS = 2, 1000


class Setting(t.NamedTuple):
    """The settings of one end. Both ends have the same settings except for the port."""

    device: str
    port: int
    seconds: int
    size: int
    """Bytes of a write or send."""
    tcp_port: int
    """The first TCP port; each test has one."""

    def port_of(self, test: str) -> int:
        return self.tcp_port + TESTS.index(test)


class Figure(t.NamedTuple):
    """The result of one test of a pair. Values that the test does not measure are None."""

    test: str
    gbps: float | None = None
    usec: float | None = None
    """Typical latency, or the average of ibping, in microseconds."""
    loss: float | None = None
    """Packet loss of ibping in percent."""
    problem: str = ""
    """Why there is no result."""
    no_device: bool = False
    """Whether the reason is a device or port that the tool could not use, at either end."""


def unit(test: str) -> str:
    """The unit of its result."""
    return USEC if test in (LATENCY, PING) else GBPS


def _perftest_command(test: str, setting: Setting) -> tuple[str, ...]:
    options: tuple[str, ...] = ("--size", str(setting.size), "--duration", str(setting.seconds), "--report_gbits")
    if test == LATENCY:
        options = ("--size", str(_LATENCY_BYTES), "--iters", str(_LATENCY_ITERATIONS))
    return _measure.perftest_command(test, setting.device, setting.port, tcp_port=setting.port_of(test), options=options)


def server(test: str, setting: Setting) -> tuple[str, ...]:
    """The command line of the server."""
    if test == STREAM:
        return _measure.iperf3_server(setting.port_of(test))
    return _measure.ibping_server(setting.device, setting.port) if test == PING else _perftest_command(test, setting)


def client(test: str, setting: Setting, peer: t.Mapping[str, t.Any]) -> tuple[str, ...]:
    """The command line of the client; `peer` has the `address`, `ip_address` and `lid` of the server."""
    if test == STREAM:
        return _measure.iperf3_client(peer["ip_address"], setting.port_of(test), setting.seconds)
    if test == PING:
        return _measure.ibping_client(setting.device, setting.port, lid=peer["lid"], number=PINGS)
    return (*_perftest_command(test, setting), peer["address"])


def figure(test: str, output: str) -> Figure:
    """Parse the output of a client."""
    try:
        if test == LATENCY:
            return Figure(test, usec=_measure.parse_latency(output))
        if test == PING:
            return Figure(test, **_measure.parse_pings(output)._asdict())
        return Figure(test, gbps=_measure.parse_iperf3(output) if test == STREAM else _measure.parse_bandwidth(output))
    except UnexpectedOutput as exc:
        return Figure(test, problem=exc.msg)
