# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The output of perftest, ibping and iperf3 gives a result, or the reason why there is none."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools._measure import (
    Pings,
    bandwidth,
    last_words,
    parse_bandwidth,
    parse_iperf3,
    parse_latency,
    parse_pings,
)
from hypothesis import given
from hypothesis import strategies as st

# Written from the formats in the sources of the tools.
LINE = "-" * 87
BANDWIDTH = """
%s
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Mtu             : 4096[B]
%s
 local address: LID 0x04 QPN 0x0127 PSN 0x4d5f79 RKey 0x1810b7 VAddr 0x007f8d6c2d9000
%s
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 2          5000             0.10              0.09               5.1
 65536      1856412          0.00               97.31              0.185602
%s
""" % (LINE, LINE, LINE, LINE)
LATENCY = """
 Conflicting CPU frequency values detected: 1200.000000 != 2600.000000. CPU Frequency is not max.
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          0.85           3.39         0.88     \t       0.89        \t0.05   \t\t0.93    \t\t3.39
"""
OLD_LATENCY = """
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]
 2       1000          0.85           3.39         0.88
"""
PINGS = """
--- node2.(none) (Lid 5) ibping statistics ---
10 packets transmitted, 9 received, 10% packet loss, time 1003 ms
rtt min/avg/max = 0.101/0.223/0.401 ms
"""
NO_PINGS = """ibwarn: [4711] mad_rpc_rmpp: _do_madrpc failed; dport (Lid 7)
--- - (Lid 7) ibping statistics ---
10 packets transmitted, 0 received, 100% packet loss, time 0 ms
rtt min/avg/max = 18446744073709551.615/0.000/0.000 ms
"""
STREAM = json.dumps({"start": {}, "end": {"sum_sent": {"bits_per_second": 2.1e10}, "sum_received": {"bits_per_second": 20712345678.9}}})
PARSERS: t.Mapping[str, tuple[t.Callable[[str], t.Any], str]] = {
    "bandwidth": (parse_bandwidth, BANDWIDTH),
    "latency": (parse_latency, LATENCY),
    "pings": (parse_pings, PINGS),
    "stream": (parse_iperf3, STREAM),
}


def test_results() -> None:
    # The last row counts.
    assert parse_bandwidth(BANDWIDTH) == bandwidth(BANDWIDTH) == 97.31
    assert parse_latency(LATENCY) == parse_latency(OLD_LATENCY) == 0.88
    assert parse_pings(PINGS) == Pings(223.0, 10.0)
    assert parse_pings(NO_PINGS) == Pings(0.0, 100.0)
    assert parse_iperf3(STREAM) == 20.712


def no_result(parse: t.Callable[[str], t.Any], text: str) -> str:
    """Return the text quoted in place of a result."""
    with pytest.raises(UnexpectedOutput, match=r"no result; it said: .") as caught:
        parse(text)
    return caught.value.msg.partition(": ")[2]


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("text", ["", "Couldn't connect to node1:18515\n", "0 packets transmitted, 0 received, 0% packet loss", '{"end": [1]}', "[]", "{"])
def test_what_is_no_result_is_quoted(name: str, text: str) -> None:
    assert no_result(PARSERS[name][0], text) == (text.strip() or "nothing")


def test_an_error_of_iperf3_is_its_message() -> None:
    said = no_result(parse_iperf3, '{"start": {}, "end": {}, "error": "unable to connect to server: Connection refused"}')
    assert said == "unable to connect to server: Connection refused"


@pytest.mark.parametrize("bits", ["1e400", "NaN", "-1", "true", '"7"', "null", "9" * 500])
def test_what_is_no_rate_is_none(bits: str) -> None:
    assert no_result(parse_iperf3, '{"end": {"sum_received": {"bits_per_second": %s}}}' % bits)


def test_more_answers_than_questions_are_no_statistics() -> None:
    assert no_result(parse_pings, "3 packets transmitted, 4 received, 0% packet loss")


def test_the_end_of_a_long_text_is_quoted() -> None:
    assert last_words("\n".join([LINE, *map(str, range(9)), LINE])) == "3 | 4 | 5 | 6 | 7 | 8"
    assert len(last_words("word " * 9000)) <= 400


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
def test_damaged_text_is_a_result_or_none(name: str, data: st.DataObject) -> None:
    parse, text = PARSERS[name]
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, len(text)))
    damaged = text[:begin] + data.draw(st.text(max_size=20)) + text[end:]
    try:
        assert isinstance(parse(damaged), (float, int, Pings))
    except UnexpectedOutput as exc:
        assert isinstance(exc.msg, str)
