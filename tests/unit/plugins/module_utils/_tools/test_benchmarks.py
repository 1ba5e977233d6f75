# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The output of OSU Micro-Benchmarks, IMB-MPI1 and nccl-tests gives a result, or the reason why there is none."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _benchmarks as benchmarks
from hypothesis import given
from hypothesis import strategies as st

# Written after the documented formats of the tools, versions 5 and 7 of OSU.
OSU_5 = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n"
OSU_7 = "\n# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
OSU_BANDWIDTH = "# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n"
IMB_PINGPONG = """
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.05         0.00
            1         1000         1.06         0.94
      4194304           10       340.00     12336.19
"""
IMB_ALLTOALL = """
#----------------------------------------------------------------
# Benchmarking Alltoall
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.05         0.06         0.05
         1024         1000         7.50         8.50         8.00
         2048         1000        10.50        12.50        11.00
"""
NCCL = """\
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 268435456 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   6899 on node1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6733 on node2 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
node1:6899:6910 [0] NCCL INFO Using network IB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    125.3    8.37    8.37      0    121.2    8.65    8.65      0
   268435456      67108864     float     sum      -1   5640.1   47.59   47.59      0   5638.2   47.61   47.61      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 28.0550
#
"""


def test_osu_in_two_versions() -> None:
    for titles in (OSU_5, OSU_7):
        assert benchmarks.parse_osu_latency("module load\n" + titles + "0  1.02\n8                       1.21\n4096 3.3\n") == 1.02
    assert benchmarks.parse_osu_bandwidth(OSU_BANDWIDTH + "1                       3.33\n4194304             12345.67\n") == 98.765


def test_imb() -> None:
    assert benchmarks.parse_imb_pingpong(IMB_PINGPONG) == (1.05, 98.69)
    assert benchmarks.parse_imb_alltoall(IMB_ALLTOALL) == 8.0


def test_nccl() -> None:
    found = benchmarks.parse_all_reduce(NCCL)
    assert found == (380.72, 2, "IB", 0)
    wrong = benchmarks.parse_all_reduce(NCCL.replace("values : 0 OK", "values : 3 FAILED").replace("network IB", "network Socket"))
    assert (wrong.wrong, wrong.network) == (3, "Socket")
    # Versions before 2.11 print no root.
    assert benchmarks.parse_all_reduce(NCCL.replace("sum      -1", "sum")).gbps == 380.72


def test_one_process_over_tcp_is_the_network_of_all() -> None:
    assert benchmarks.network_of("NCCL INFO Using network IB\nNCCL INFO Using network Socket\n") == "Socket"
    assert benchmarks.network_of("") == ""


@pytest.mark.parametrize("parse", [benchmarks.parse_osu_latency, benchmarks.parse_osu_bandwidth, benchmarks.parse_imb_pingpong, benchmarks.parse_all_reduce])
def test_no_result_quotes_what_was_said(parse: t.Callable[[str], t.Any]) -> None:
    with pytest.raises(UnexpectedOutput, match="it said: no slots"):
        parse("no slots\n")
    with pytest.raises(UnexpectedOutput, match="it said: nothing"):
        parse("")


@given(st.lists(st.tuples(st.integers(1, 1 << 22), st.floats(0.01, 1e6)), min_size=1, max_size=8, unique_by=lambda row: row[0]), st.booleans())
def test_the_smallest_message_is_the_latency(rows: list[tuple[int, float]], noise: bool) -> None:
    lines = ["%-10d %18.2f" % row for row in rows]
    text = OSU_7 + ("\n[node1] warning: 12 of 13 fell back\n" if noise else "\n").join(lines) + "\n"
    assert benchmarks.parse_osu_latency(text) == float("%.2f" % min(rows)[1])


def test_commands() -> None:
    assert benchmarks.latency_command("osu_latency") == ("osu_latency", "-m", "8:8")
    assert benchmarks.latency_command("IMB-MPI1") == ("IMB-MPI1", "PingPong")
    assert benchmarks.alltoall_command("IMB-MPI1", 4) == ("IMB-MPI1", "-npmin", "4", "Alltoall")
