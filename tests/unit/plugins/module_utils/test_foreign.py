# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils import _foreign as foreign
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import parse_show
from hypothesis import given
from hypothesis import strategies as st
from support import hostile

NO_NUMBERS = ["", " 1", "1 ", "1_0", "²", "①", "٣", "9" * 5000, "0x1g", "x", "+", "-", "1\n", "NaN"]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number(text: str) -> None:
    assert (foreign.decimal(text), foreign.hexadecimal(text), foreign.integer(text), foreign.real(text)) == (None, None, None, None)
    assert (foreign.decimal(text, 7), foreign.hexadecimal(text, 7)) == (7, 7)


def test_numbers() -> None:
    assert [foreign.decimal(text) for text in ("0", "007", "12", "-1", "0x1")] == [0, 7, 12, None, None]
    assert [foreign.hexadecimal(text) for text in ("0", "ff", "0xFF", "0X10", "-1")] == [0, 255, 255, 16, None]
    assert [foreign.integer(text) for text in ("0", "-12", "+3", "0xc", "014", "08")] == [0, -12, 3, 12, 12, None]
    assert [foreign.real(text) for text in ("61", "-2.5", "5E-10", "1.", "1e999")] == [61.0, -2.5, 5e-10, None, None]


@given(st.text())
def test_any_text(text: str) -> None:
    for read in (foreign.decimal, foreign.hexadecimal, foreign.integer, foreign.real, foreign.read_json, foreign.read_table):
        t.cast("t.Callable[[str], t.Any]", read)(text)


@pytest.mark.parametrize("text", ["", "{", "x", "[" * 100000, '{"a":' * 100000, "[" * 60 + "]" * 60, '{"a":' * 60 + "1" + "}" * 60])
def test_what_is_no_record(text: str) -> None:
    assert foreign.read_json(text) is None
    assert foreign.read_table(text) == {}


def test_records() -> None:
    assert foreign.read_json('[{"a": [1]}]') == [{"a": [1]}]
    assert foreign.read_table('{"a": {"b": null}}') == {"a": {"b": None}}
    assert foreign.read_table("[1]") == {}


@pytest.mark.parametrize("pid", ["0x1g", "²", "9" * 5000, "", "-1"])
def test_a_unit_whose_process_has_no_number_has_none(pid: str) -> None:
    assert parse_show("Id=a.service\nMainPID=%s\n" % pid)["a.service"].main_pid == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("node1 HCA-1", "node1 HCA-1"),
        ("Knoten-Ä 節点", "Knoten-Ä 節点"),
        ("node1\nnode2", "node1\\nnode2"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\u00a0b", "a b"),
        ("node\u202e1", "node\\u202e1"),
        ("node\udcff", "node\\udcff"),
        ("a\tb\0\x7f\x85\u2028", "a\\tb\\x00\\x7f\\x85\\u2028"),
    ],
)
def test_names_of_others_are_shown_as_what_they_are(text: str, shown: str) -> None:
    assert foreign.shown(text) == shown


@pytest.mark.parametrize("name", hostile.NAMES)
def test_a_shown_name_is_one_line_of_plain_text(name: str) -> None:
    shown = foreign.shown(name)
    assert len(shown.splitlines()) == 1
    assert shown.isprintable()
    assert foreign.shown(shown) == shown
    assert shown.encode()
    assert len(foreign.shown_lines("a\n%s\tb\n" % name).split("\n")) == len("a\n%s\tb\n".replace("%s", name).replace("\r\n", "\n").split("\n"))


@given(st.text())
def test_any_name_is_shown_as_one_line(text: str) -> None:
    assert foreign.shown(text).isprintable()


def test_lines_and_tabs_stay_in_a_text_of_several_lines() -> None:
    assert foreign.shown_lines("a\tb\r\nc\x1b[1m\n\u202ed") == "a\tb\nc\\x1b[1m\n\\u202ed"
