# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config import _values as values
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import parse_query
from hypothesis import given
from hypothesis import strategies as st
from support import recordings


@pytest.mark.parametrize(
    ("wish", "shown"),
    [
        ("True", "True(1)"),
        ("yes", "True(1)"),
        ("1", "True(1)"),
        ("0x1", "True(1)"),
        ("off", "False(0)"),
        ("eth", "ETH(2)"),
        ("2", "ETH(2)"),
        ("0x2", "ETH(2)"),
        ("ETH(2)", "ETH(2)"),
        ("8", "8"),
        ("0x08", "8"),
        ("16", "0x10(16)"),
        ("0x10", "0x10(16)"),
        ("_4_vls", "_4_VLs(3)"),
        ("0xAB00cd", "ab00cd"),
    ],
)
def test_one_meaning(wish: str, shown: str) -> None:
    assert values.same(wish, shown)


@pytest.mark.parametrize(
    ("wish", "shown"),
    [
        ("8", "80"),
        ("8", "18"),
        ("True", "False(0)"),
        ("2", "True(1)"),
        ("ETH", "IB(1)"),
        ("True", "IB(1)"),
        ("10", "0x10(16)"),
        ("ENABLED", "DISABLED(1)"),
        ("1", "ENABLED(0)"),
        ("8", "Array[0..7]"),
        ("8", "N/A"),
        ("N/A", "N/A"),
    ],
)
def test_two_meanings(wish: str, shown: str) -> None:
    assert not values.same(wish, shown)


@pytest.mark.parametrize(
    ("wish", "shown", "spelt"),
    [
        ("yes", "False(0)", "True"),
        ("0", "True(1)", "False"),
        ("0x10", "8", "16"),
        ("10", "0x0(0)", "0xa"),
        ("ETH", "IB(1)", "ETH"),
        ("0x2", "IB(1)", "2"),
        ("ETH(2)", "IB(1)", "2"),
        ("0xab00", "cdef", "0xab00"),
        ("maybe", "True(1)", "maybe"),
    ],
)
def test_one_spelling_for_the_tool(wish: str, shown: str, spelt: str) -> None:
    assert values.argument(wish, shown) == spelt


def test_keys() -> None:
    assert values.elements_of("NAME[2..4]") == ["NAME[2]", "NAME[3]", "NAME[4]"]
    assert values.elements_of("EXP_ROM_UEFI_x86_ENABLE") == ["EXP_ROM_UEFI_x86_ENABLE"]
    assert [values.elements_of(text) for text in ("", "A B", "A[4..2]", "A[", "A=1", "-y")] == [[]] * 6
    assert values.base_name("NAME[2]") == "NAME"
    assert values.bounds("Array[1..64]") == (1, 64) and values.bounds("8") is None


NUMBER = st.integers(min_value=0, max_value=2**32 - 2)
NAME = st.from_regex(r"\A[A-Z_][A-Z0-9_]{0,12}\Z").filter(lambda name: name not in ("TRUE", "FALSE"))


@given(NUMBER, NUMBER, NAME)
def test_numbers_are_compared_as_numbers(one: int, other: int, name: str) -> None:
    for wish in (str(one), "0x%x" % one, "%s(%d)" % (name, one)):
        for shown in (str(other), "0x%x(%d)" % (other, other), "%s(%d)" % (name, other)):
            assert values.same(wish, shown) is (one == other)
            assert values.number_of(values.argument(wish, shown)) == one


@given(st.text(), st.text())
def test_any_text_can_be_compared(wish: str, shown: str) -> None:
    values.same(wish, shown)
    values.argument(wish, shown)
    values.elements_of(wish)
    assert values.agree(wish, wish)


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("True(1)", True),
        ("False(0)", False),
        ("ETH(2)", "ETH"),
        ("OFF(0)", "OFF"),
        ("_4_VLs(3)", "_4_VLs"),
        ("0x10(16)", "0x10"),
        ("16", 16),
        ("0", 0),
        ("8(3)", 3),
        ("ab00cd", "ab00cd"),
        ("0012", "0012"),
        ("1" * 24, "1" * 24),
    ],
)
def test_what_is_declared_for_a_value_that_is_shown(shown: str, value: bool | int | str) -> None:
    found = values.as_declared(shown)
    assert (type(found), found) == (type(value), value)
    assert values.same(values.text_of(found), shown)


def test_what_is_declared_for_recorded_values_means_them() -> None:
    shown = {
        value
        for path in recordings.files()
        if path.parent.name in ("mlxconfig", "mlxconfig_e")
        # The only text that was cut off within a row.
        if path.name != "cx3pro_default_next_only.txt"
        for row in parse_query(recordings.recorded(path)).rows.values()
        for value in (row.next, row.current, row.default)
        if value is not None and values.readable(value) and not values.bounds(value)
    }
    assert len(shown) > 50
    assert [value for value in shown if not values.same(values.text_of(values.as_declared(value)), value)] == []
