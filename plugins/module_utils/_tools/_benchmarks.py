# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Benchmarks that run as a parallel job: the OSU Micro-Benchmarks and IMB-MPI1 for MPI, and `all_reduce_perf` of nccl-tests for NCCL. Pure.

Parsers raise UnexpectedOutput where there is no result. Other text, such as that of a login or of the MPI library, may be between the lines.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import UnexpectedOutput
from .._foreign import decimal, real
from ._measure import last_words

OSU_LATENCY, OSU_BANDWIDTH, OSU_ALLTOALL = "osu_latency", "osu_bw", "osu_alltoall"
IMB = "IMB-MPI1"
NCCL = "all_reduce_perf"
# Bytes. Small messages show the latency, large ones the bandwidth.
_SMALL, _LARGE, _BLOCK = 8, 4 << 20, 1024
_NCCL_LEAST, _NCCL_MOST = 1 << 20, 256 << 20
_BITS = 8
_RANK = re.compile(r"#\s+Rank\s+([0-9]{1,9})\s")
_NETWORK = re.compile(r"NCCL INFO Using network (\S{1,40})")
_WRONG = re.compile(r"# Out of bounds values : ([0-9]{1,18}) ")


class Row(t.NamedTuple):
    """One message size of a benchmark."""

    size: int
    """Bytes."""
    value: float
    """In the unit of the benchmark."""


class AllReduce(t.NamedTuple):
    """The result of `all_reduce_perf`."""

    gbps: float
    """The bus bandwidth of the largest message, in Gb/s."""
    ranks: int
    """How many processes took part together; 0 where unknown."""
    network: str
    """What NCCL says that it uses between nodes, such as `IB` or `Socket`; empty where it is silent."""
    wrong: int
    """How many values of the result are wrong."""


def _no_result(output: str) -> UnexpectedOutput:
    return UnexpectedOutput("no result; it said: %s" % (last_words(output) or "nothing"))


def _rows(output: str, title: str, *, size: str, value: int) -> list[Row]:
    """The rows below the line of titles that begins with `size` and contains `title`. `value`: the place of the value."""
    found: list[Row] = []
    begun = False
    for line in output.splitlines():
        words = line.split()
        if line.lstrip("# \t").startswith(size) and title in line:
            begun, found = True, []
        elif begun and len(words) > value:
            number, amount = decimal(words[0]), real(words[value])
            if number is not None and amount is not None and amount > 0:
                found.append(Row(number, amount))
    if not found:
        raise _no_result(output)
    return found


def _osu(output: str, title: str) -> list[Row]:
    return _rows(output, title, size="Size", value=1)


def latency_command(tool: str) -> tuple[str, ...]:
    """The command of each process of a ping-pong between two nodes."""
    return (IMB, "PingPong") if tool == IMB else (tool, "-m", "%d:%d" % (_SMALL, _SMALL))


def bandwidth_command(tool: str) -> tuple[str, ...]:
    return (tool, "-m", "%d:%d" % (_LARGE, _LARGE))


def alltoall_command(tool: str, processes: int) -> tuple[str, ...]:
    """Without `-npmin`, IMB also runs it with fewer processes."""
    return (IMB, "-npmin", str(processes), "Alltoall") if tool == IMB else (tool, "-m", "%d:%d" % (_BLOCK, _BLOCK))


def parse_osu_latency(output: str) -> float:
    """The latency of the smallest message, in microseconds; of a collective, the average of all processes."""
    return min(_osu(output, "Latency")).value


def parse_osu_bandwidth(output: str) -> float:
    """The greatest bandwidth in Gb/s. The tool prints 10^6 bytes per second."""
    return round(max(row.value for row in _osu(output, "Bandwidth (MB/s)")) * _BITS / 1000, 3)


class PingPong(t.NamedTuple):
    """The result of `IMB-MPI1 PingPong`."""

    usec: float
    """The latency of the smallest message, in microseconds."""
    gbps: float
    """The greatest bandwidth, in Gb/s."""


def parse_imb_pingpong(output: str) -> PingPong:
    """The bandwidth is computed from sizes and times, because versions print it in different units."""
    rows = _rows(output, "t[usec]", size="bytes", value=2)
    return PingPong(min(rows).value, round(max(_BITS * row.size / row.value for row in rows) / 1000, 3))


def parse_imb_alltoall(output: str) -> float:
    """The average time of the message of the size that osu_alltoall sends, else of the smallest one, in microseconds."""
    rows = _rows(output, "t_avg[usec]", size="bytes", value=4)
    return next((row.value for row in rows if row.size == _BLOCK), min(rows).value)


def allreduce_command(gpus: int) -> tuple[str, ...]:
    """The command of each process. `gpus`: GPUs of a process."""
    return (NCCL, "-b", str(_NCCL_LEAST), "-e", str(_NCCL_MOST), "-f", "4", "-g", str(gpus))


def network_of(output: str) -> str:
    """The network that NCCL names with NCCL_DEBUG=INFO; empty where it names none. Of several, the first that is not InfiniBand."""
    names = _NETWORK.findall(output)
    return next((name for name in names if not name.upper().startswith("IB")), names[0] if names else "")


def parse_all_reduce(output: str) -> AllReduce:
    """Size, count, type, operation and, except in old versions, root; then time, two bandwidths in GB/s and wrong values, twice."""
    rows: list[Row] = []
    for line in output.splitlines():
        words = line.split()
        if len(words) in (12, 13) and all(decimal(word) is not None for word in words[:2]):
            amount = real(words[-6])
            if amount is not None and amount >= 0:
                rows.append(Row(decimal(words[0], 0), amount))
    if not rows:
        raise _no_result(output)
    wrong = _WRONG.search(output)
    ranks = set(_RANK.findall(output))
    return AllReduce(round(max(rows).value * _BITS, 3), len(ranks), network_of(output), decimal(wrong[1], 0) if wrong else 0)
