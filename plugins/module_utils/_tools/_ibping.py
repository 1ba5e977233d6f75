# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`ibping`: whether management packets come back. Grammar from infiniband-diags, `ibping.c`."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal, real
from ansible_collections.rdma.ofed.plugins.module_utils._tools._no_result import NoResult, no_result

_COUNT = re.compile(r"([0-9]{1,18}) packets transmitted, ([0-9]{1,18}) received, ")
_TIMES = re.compile(r"rtt min/avg/max = [0-9.]{1,40}/([0-9]{1,18}\.[0-9]{1,6})/")


class Pings(t.NamedTuple):
    """The statistics at its end."""

    sent: int
    received: int
    usec: float
    """The average time of those that came back, in microseconds; 0 where it is not known."""

    @property
    def loss(self) -> float:
        """Percent."""
        return round(100.0 * (self.sent - self.received) / self.sent, 1)


def parse_pings(output: str) -> Pings | NoResult:
    """What came back. More answers than questions are no statistics."""
    count = times = None
    for line in output.splitlines():
        count = _COUNT.match(line) or count
        times = _TIMES.match(line) or times
    sent, received = (decimal(count[1], 0), decimal(count[2], 0)) if count else (0, 0)
    if not sent or received > sent:
        return no_result(output)
    average = real(times[1]) if times and received else None
    return Pings(sent, received, round(1000 * average, 3) if average else 0.0)


def server(device: str, port: int) -> tuple[str, ...]:
    return ("ibping", "-C", device, "-P", str(port), "-S")


def client(device: str, port: int, *, lid: int, number: int) -> tuple[str, ...]:
    """Sends one after the other, without a pause."""
    return ("ibping", "-C", device, "-P", str(port), "-c", str(number), "-f", str(lid))
