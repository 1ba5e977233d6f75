# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._file import parse_partitions
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._grammar import LINE, read_file
from hypothesis import given
from hypothesis import strategies as st
from support import partition_file

CORPUS = pathlib.Path(__file__).resolve().parents[5] / "corpus"
# The form in Red Hat's networking guide.
PACKAGED = """\
Default=0x7fff, rate=3, mtu=4, scope=2, defmember=full:
        ALL, ALL_SWITCHES=full;
Default=0x7fff, ipoib, rate=3, mtu=4, scope=2:
        mgid=ff12:401b::ffff:ffff       # IPv4 Broadcast address
        mgid=ff12:401b::1               # IPv4 All Hosts group
        ALL=full, ALL_SWITCHES=full;
ib0_2=0x0002, ipoib, rate=7, mtu=4, scope=2:
        mgid=ff12:401b::ffff:ffff       # IPv4 Broadcast address
        ALL=full, ALL_SWITCHES=full;
"""


def test_statements_are_kept_as_they_are_written() -> None:
    """A multicast group takes the rest of its line, so lines of others stay unchanged."""
    default, other = parse_partitions(PACKAGED)
    assert default.text + other.text == PACKAGED
    assert [statement.groups for statement in read_file(PACKAGED).statements] == [
        (),
        ("mgid=ff12:401b::ffff:ffff", "mgid=ff12:401b::1"),
        ("mgid=ff12:401b::ffff:ffff",),
    ]
    again = read_file(other.text)
    assert (again.error, again.remarks, again.statements[0].members) == ("", (), (("ALL", "full"), ("ALL_SWITCHES", "full")))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Default=0x7fff ALL=full;\n", "line 1: no partition definition found"),
        ("# one\n\nDefault=0x7fff\n : ALL=full;\n", "line 3: no partition definition found"),
        ("a=x : ALL;", "line 1: bad partition definition"),
        ("a=1 : node1=full;", "line 1: bad PortGUID node1"),
        ("a=1 : ALL=full;;", "line 1: no partition definition found"),
    ],
)
def test_what_makes_opensm_drop_the_file(text: str, error: str) -> None:
    assert read_file(text).error == error
    assert parse_partitions(text) == []


def test_a_group_that_is_none_is_left_out_with_its_line() -> None:
    found = read_file("a=1, ipoib:\n mgid=ff12:401b::1 mgid=ff12:401b::2 ALL=full;\n")
    assert found.statements[0].members == ()
    assert found.remarks == ('line 2: mgid "ff12:401b::1 mgid=ff12:401b::2 ALL=full": gid is not multicast',)


@pytest.mark.parametrize(
    ("line", "members", "lost"),
    [
        ("mgid=ff12:401b::1, ALL=full, 0x11=full", (), ("ALL=full", "0x11=full")),
        ("ALL=full, mgid=ff12:401b::1,17", (("ALL", "full"),), ("17",)),
        # Flags of the group, also abbreviated, words that opensm ignores, and a trailing comma.
        ("mgid=ff12:401b::1, sl=2, Q=5, m=4, T=1, strange=3, 0x0,", (), ()),
        ("mgid=ff12:401b::1 # ALL=full", (), ()),
    ],
)
def test_what_is_behind_a_group_on_its_line_is_no_member(line: str, members: t.Any, lost: tuple[str, ...]) -> None:
    (statement,) = read_file("a=1, ipoib :\n %s\n ;\n" % line).statements
    assert (statement.members, statement.lost) == (members, lost)


def test_blanks_do_not_separate_members() -> None:
    """Regression: `ALL=full SELF=full` was parsed as two members."""
    assert read_file("a=1 : ALL=full SELF=full;").statements[0].members == (("ALL", "limited"),)


def test_a_long_line_is_two() -> None:
    cut = "a=1 : # %s\n 0x11=full;" % ("x" * LINE)
    # The rest of a truncated comment is not read as a comment.
    assert read_file(cut).error.startswith("line 2: bad PortGUID")


def agree(text: str) -> None:
    """Check the result against the tests' own grammar of the written file."""
    found = read_file(text)
    try:
        rules = partition_file.parse(text)
    except UnexpectedOutput:
        assert found.error
        return
    assert not found.error
    own = [((statement.key or 0) & 0x7FFF, statement.members) for statement in found.statements]
    assert own == [(rule.pkey, rule.members) for rule in rules]


@pytest.mark.parametrize("path", sorted((CORPUS / "opensm_partitions").glob("*.conf")), ids=lambda path: path.stem)
def test_what_we_write(path: pathlib.Path) -> None:
    agree(path.read_text(encoding="utf-8"))


WORDS = ("a", "A", "ALL", "SELF", "=", "=full", ":", ";", ",", "#", "\n", " ", "0x1", "12", "full", "lim", "=0x8001", "mtu=5")


@given(st.lists(st.sampled_from(WORDS)).map("".join))
def test_any_text(text: str) -> None:
    agree(text)
