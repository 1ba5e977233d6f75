# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`iperf3 --json`: the bandwidth of TCP. Grammar from iperf3, `iperf_api.c`."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import read_table
from ansible_collections.rdma.ofed.plugins.module_utils._tools._no_result import NoResult, no_result

# Above what any network does. It keeps out what is infinite, too.
_MOST_BITS = 1e15


def _part(table: t.Any, name: str) -> t.Any:
    return table.get(name) if isinstance(table, dict) else None


def parse_result(output: str) -> float | NoResult:
    """What the server received, in Gb/s."""
    table = read_table(output)
    error = table.get("error")
    if isinstance(error, str) and error:
        return no_result(error)
    bits = _part(_part(_part(table, "end"), "sum_received"), "bits_per_second")
    if isinstance(bits, (int, float)) and not isinstance(bits, bool) and 0 <= bits < _MOST_BITS:
        return round(bits / 1e9, 3)
    return no_result(output)


def server(tcp_port: int) -> tuple[str, ...]:
    """Serves one client."""
    return ("iperf3", "--server", "--one-off", "--port", str(tcp_port))


def client(address: str, tcp_port: int, seconds: int) -> tuple[str, ...]:
    return ("iperf3", "--client", address, "--port", str(tcp_port), "--time", str(seconds), "--json")
