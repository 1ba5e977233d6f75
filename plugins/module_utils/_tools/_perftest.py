# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`ib_write_bw`, `ib_send_bw` and `ib_write_lat` of perftest. Grammar from perftest, `perftest_parameters.h`: RESULT_LINE and the formats beside it."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal, real
from ansible_collections.rdma.ofed.plugins.module_utils._tools._no_result import NoResult, no_result

_TYPICAL, _TAIL = "t_typical[usec]", "99%"


class Latency(t.NamedTuple):
    """Microseconds."""

    typical: float
    """The median."""
    tail: float | None
    """99 % are faster; None where the version does not say."""


def bandwidth(output: str) -> float | None:
    """The average in Gb/s that it says with `--report_gbits`; None where it says none."""
    # Bytes, iterations, peak, average, and the rate of messages where it is asked to tell.
    rows = [line.split() for line in output.splitlines()]
    averages = [real(row[3]) for row in rows if len(row) in (4, 5) and decimal(row[0]) is not None and decimal(row[1]) is not None]
    return next((average for average in reversed(averages) if average is not None), None)


def parse_bandwidth(output: str) -> float | NoResult:
    """The average in Gb/s, likewise."""
    found = bandwidth(output)
    return no_result(output) if found is None or found < 0 else found


def _cell(row: t.Sequence[str], titles: t.Sequence[str], title: str) -> float | None:
    # Titles with a blank come behind those that are looked for, except that of the tail itself, whose first word is in its place.
    place = titles.index(title) if title in titles else len(row)
    value = real(row[place]) if place < len(row) else None
    return value if value is not None and value >= 0 else None


def parse_latency(output: str) -> Latency | NoResult:
    """The result of a run with a number of iterations. One with a duration says no median."""
    titles: list[str] = []
    for line in output.splitlines():
        row = line.split()
        if _TYPICAL in row:
            titles = row
        elif titles and row and decimal(row[0]) is not None:
            typical = _cell(row, titles, _TYPICAL)
            if typical is not None:
                return Latency(typical, _cell(row, titles, _TAIL))
    return no_result(output)


def command(tool: str, device: str, port: int, *, tcp_port: int, options: t.Sequence[str]) -> tuple[str, ...]:
    """Of both ends; the client adds the address of the server. The processor may change its frequency meanwhile, which would end the tool."""
    return (tool, "--ib-dev", device, "--ib-port", str(port), "--port", str(tcp_port), "--CPU-freq", *options)
