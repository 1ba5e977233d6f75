# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values are checked against the type that modinfo shows for the parameter, as the kernel would."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._check import allowed
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("int", "512 -1 +5 0x10 010 0 2147483647 -2147483648", "abc 5k 1.5 08 0x 2147483648 -2147483649 1,2 y -"),
        ("uint", "0 4294967295 0xffffffff", "-1 -0 4294967296"),
        ("ushort", "65535", "65536 -1"),
        ("short", "-32768", "-32769"),
        ("byte", "255", "256"),
        ("ulong", "18446744073709551615", "18446744073709551616"),
        ("bool", "1 0 y N yes No on OFF", "2 true abc o"),
        ("bint", "1 n", "7"),
        ("array of int", "1 1,2 -1,0x2", "1,,2 1,b 1,"),
        ("array of charp", "a,b,,c", ""),
        ("charp", "anything 7", ""),
        ("", "anything 7", ""),
        ("gizmo", "anything 7", ""),
    ],
)
def test_values(kind: str, good: str, bad: str) -> None:
    assert [value for value in good.split() if allowed(kind, value)] == []
    assert [value for value in bad.split() if not allowed(kind, value)] == []


def test_what_would_do_is_said() -> None:
    assert allowed("byte", "256") == "a number from 0 to 255"
    assert allowed("array of byte", "1,x") == "a list separated by commas, without blanks, each entry a number from 0 to 255"
    assert allowed("bool", "maybe") == "1 or 0, y or n, on or off"


@given(st.integers(min_value=-(2**31), max_value=2**31 - 1))
def test_every_number_of_the_type_is_good(number: int) -> None:
    assert not allowed("int", str(number))
    assert not allowed("long", "%s0x%x" % ("-" if number < 0 else "", abs(number)))
