# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tools that measure a pair of hosts: `ib_write_bw`, `ib_send_bw` and `ib_write_lat` of perftest, `ibping`, and `iperf3` for TCP. Pure.

Grammar from `perftest_parameters.h` (RESULT_LINE and the formats beside it), from `ibping.c` of infiniband-diags, and from `iperf_api.c`.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import UnexpectedOutput
from .._foreign import decimal, read_table, real

# Number of lines shown from a tool without a result.
_LINES = 6
_MOST = 400
_TYPICAL = "t_typical[usec]"
_COUNT = re.compile(r"([0-9]{1,18}) packets transmitted, ([0-9]{1,18}) received, ")
_TIMES = re.compile(r"rtt min/avg/max = [0-9.]{1,40}/([0-9]{1,18}\.[0-9]{1,6})/")
# More than any network transfers. This also rejects infinite values.
_MOST_BITS = 1e15


# Messages of perftest, libibumad, libibmad and rdma-core about a device or port that is missing or unusable.
_NO_DEVICE = re.compile(
    r"IB device \S{1,64} not found|No IB devices found|Unable to find the Infiniband/RoCE device|Failed to (?:get|open) device"
    r"|[Pp]ort number \S{1,8} (?:state is|is) (?:not active|Down)|Couldn't get device attributes|[Cc]an't open UMAD port|Failed to open '"
)


def is_no_device(said: str) -> bool:
    """Whether a tool reports that its own device or port is missing or down."""
    return _NO_DEVICE.search(said) is not None


def last_words(text: str) -> str:
    """The last non-empty lines, joined to one line; "" for none."""
    lines = [" ".join(line.split()) for line in text[-_LINES * _MOST :].splitlines()]
    return " | ".join([line for line in lines if line.strip("-#*")][-_LINES:])[-_MOST:]


def _no_result(output: str) -> UnexpectedOutput:
    return UnexpectedOutput("no result; it said: %s" % (last_words(output) or "nothing"))


def bandwidth(output: str) -> float | None:
    """The average in Gb/s that perftest prints with `--report_gbits`; None where it prints none."""
    # Bytes, iterations, peak, average and, on request, the message rate.
    rows = [line.split() for line in output.splitlines()]
    averages = [real(row[3]) for row in rows if len(row) in (4, 5) and decimal(row[0]) is not None and decimal(row[1]) is not None]
    return next((average for average in reversed(averages) if average is not None), None)


def parse_bandwidth(output: str) -> float:
    """The average in Gb/s, likewise. This and the parsers below raise UnexpectedOutput where there is no result."""
    found = bandwidth(output)
    if found is None or found < 0:
        raise _no_result(output)
    return found


def parse_latency(output: str) -> float:
    """The median in microseconds of a run with a number of iterations. A run with a duration prints none."""
    place: int | None = None
    for line in output.splitlines():
        row = line.split()
        if _TYPICAL in row:
            # Titles that contain a blank follow it.
            place = row.index(_TYPICAL)
        elif place is not None and place < len(row) and decimal(row[0]) is not None:
            median = real(row[place])
            if median is not None and median >= 0:
                return median
    raise _no_result(output)


def perftest_command(tool: str, device: str, port: int, *, tcp_port: int, options: t.Sequence[str]) -> tuple[str, ...]:
    """A tool of perftest; the client adds the address of the server. The CPU frequency may change during a run, which would otherwise end the tool."""
    return (tool, "--ib-dev", device, "--ib-port", str(port), "--port", str(tcp_port), "--CPU-freq", *options)


class Pings(t.NamedTuple):
    """The statistics at the end of ibping."""

    usec: float
    """The average round-trip time in microseconds; 0 where unknown."""
    loss: float
    """Percent."""


def parse_pings(output: str) -> Pings:
    """Parse the statistics. More replies than requests are rejected."""
    count = times = None
    for line in output.splitlines():
        count = _COUNT.match(line) or count
        times = _TIMES.match(line) or times
    sent, received = (decimal(count[1], 0), decimal(count[2], 0)) if count else (0, 0)
    if not sent or received > sent:
        raise _no_result(output)
    average = real(times[1]) if times and received else None
    return Pings(round(1000 * average, 3) if average else 0.0, round(100.0 * (sent - received) / sent, 1))


def ibping_server(device: str, port: int) -> tuple[str, ...]:
    return ("ibping", "-C", device, "-P", str(port), "-S")


def ibping_client(device: str, port: int, *, lid: int, number: int) -> tuple[str, ...]:
    """Send one datagram after another, without a pause."""
    return ("ibping", "-C", device, "-P", str(port), "-c", str(number), "-f", str(lid))


def parse_iperf3(output: str) -> float:
    """The rate received by the server of iperf3, in Gb/s."""
    table = read_table(output)
    error = table.get("error")
    if isinstance(error, str) and error:
        raise _no_result(error)
    bits: t.Any = table
    for name in ("end", "sum_received", "bits_per_second"):
        bits = bits.get(name) if isinstance(bits, dict) else None
    if isinstance(bits, (int, float)) and not isinstance(bits, bool) and 0 <= bits < _MOST_BITS:
        return round(bits / 1e9, 3)
    raise _no_result(output)


def iperf3_server(tcp_port: int) -> tuple[str, ...]:
    """Serve one client."""
    return ("iperf3", "--server", "--one-off", "--port", str(tcp_port))


def iperf3_client(address: str, tcp_port: int, seconds: int) -> tuple[str, ...]:
    return ("iperf3", "--client", address, "--port", str(tcp_port), "--time", str(seconds), "--json")
