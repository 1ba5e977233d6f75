# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._codes import mtu_code, pkey_base, rate_code, scope_code
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from hypothesis import given
from hypothesis import strategies as st
from support.partition_file import Rule, parse

ONE, TWO = "0x0000000000000011", "0x0000000000000012"


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", ()),
        ("# nothing; here : at all\n\n", ()),
        ("Default=0x7fff : ALL=full;", (Rule("Default", 0x7FFF, (), (("ALL", "full"),)),)),
        ("Default=0xffff:ALL=full", (Rule("Default", 0x7FFF, (), (("ALL", "full"),)),)),
        (
            "a=1,ipoib,mtu=5,rate=16,sl=2,scope=5:0x11=full,0x12;\n",
            (
                Rule(
                    "a",
                    1,
                    (("ipoib", ""), ("mtu", "5"), ("rate", "16"), ("sl", "2"), ("scope", "5")),
                    ((ONE, "full"), (TWO, "limited")),
                ),
            ),
        ),
        ("0x12 : SELF=both;", (Rule("", 0x12, (), (("SELF", "both"),)),)),
        ("noKey : ALL;", (Rule("noKey", 0, (), (("ALL", "limited"),)),)),
        ("a=1, defmember=full : 0x11, 18=limited ;", (Rule("a", 1, (("defmember", "full"),), ((ONE, "full"), (TWO, "limited"))),)),
        # Words may be abbreviated, and a word unknown to opensm means limited membership.
        ("a=1 : ALL_S=f, A=bo, S=whole;", (Rule("a", 1, (), (("ALL_SWITCHES", "full"), ("ALL", "both"), ("SELF", "limited"))),)),
        ("a=1 :\n  0x11=full, # one\n  # two\n  0x12=full; # three\n", (Rule("a", 1, (), ((ONE, "full"), (TWO, "full"))),)),
        ("a=1:ALL; b=2:SELF=full;", (Rule("a", 1, (), (("ALL", "limited"),)), Rule("b", 2, (), (("SELF", "full"),)))),
        (
            "a=1,ipoib:\n mgid=ff12:401b::0707,sl=1 # group\n mgid=ff12:601b::16\n ALL=full;",
            (Rule("a", 1, (("ipoib", ""),), (("ALL", "full"),), ("mgid=ff12:401b::0707,sl=1", "mgid=ff12:601b::16")),),
        ),
        ("a=1 : NONE;", (Rule("a", 1),)),
        ("a=1, strange=3, indx0, ind : ;", (Rule("a", 1, (("indx0", ""),)),)),
    ],
)
def test_what_opensm_understands(text: str, rules: tuple[Rule, ...]) -> None:
    assert parse(text) == rules


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Default=0x7fff ALL=full;", "line 1: no definition"),
        ("\na=x : ALL;", "line 2: no P_Key"),
        ("a=1 : node1=full;", "line 1: no port GUID in 'node1=full'"),
        ("a=1 : 0x0;", "no port GUID"),
        ("a=1 : ALL;;", "no definition"),
    ],
)
def test_what_makes_opensm_drop_the_file(text: str, words: str) -> None:
    with pytest.raises(UnexpectedOutput, match=words):
        parse(text)


@given(st.text(alphabet="aALSEF=:;,#\n 0x19fulmgid"))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        rules = parse(text)
    except UnexpectedOutput:
        return
    assert all(0 <= rule.pkey <= 0x7FFF for rule in rules)


@pytest.mark.parametrize(
    ("value", "code"),
    [(10, 3), ("10 Gb/sec", 3), ("100 Gb/sec (4X EDR)", 16), ("2.5", 2), (2.5, 2), ("14Gbps", 11), (400, 21), ("1200 Gb/s", 24)]
    + [(value, None) for value in (3, 16, True, None, "", "fast", "100 Mb/sec", "10 Gb/sec and more", 1e99, [10], "0x10")],
)
def test_rates(value: t.Any, code: int | None) -> None:
    assert rate_code(value) == code


@pytest.mark.parametrize(("value", "code"), [(2048, 4), ("4096", 5), (256, 1), (4, None), (5, None), (65520, None), (True, None), ("4k", None), (2048.0, None)])
def test_mtus(value: t.Any, code: int | None) -> None:
    assert mtu_code(value) == code


@pytest.mark.parametrize(("value", "code"), [("link", 2), ("global", 14), (5, 5), ("0xe", 14), ("8", 8), (0, None), (16, None), (True, None), ("far", None)])
def test_scopes(value: t.Any, code: int | None) -> None:
    assert scope_code(value) == code


@pytest.mark.parametrize(
    ("value", "base"),
    [(0x7FFF, 0x7FFF), (0xFFFF, 0x7FFF), ("0x8001", 1), ("1", 1), ("32769", 1)]
    + [(value, None) for value in (0, 0x8000, "0x8000", 0x10000, -1, True, None, "x", "0x12345", 1.0, "01")],
)
def test_pkeys(value: t.Any, base: int | None) -> None:
    assert pkey_base(value) == base
