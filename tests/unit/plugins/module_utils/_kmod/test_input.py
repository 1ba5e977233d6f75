# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._input import problems, value_text
from hypothesis import given
from hypothesis import strategies as st


def test_good_input_has_no_problem() -> None:
    assert not problems(
        {
            "kernel_modules_state": "present",
            "kernel_modules_load": ["ib_umad", "ib-ipoib"],
            "kernel_modules_options": {"ib_ipoib": {"send_queue_size": 512}, "mlx4_core": {"port_type_array": "2,2"}, "mlx5_core": {}},
            "kernel_modules_initramfs": "never",
            "kernel_modules_mechanism": "rdma-core",
            "kernel_modules_load_now": True,
        }
    )
    assert not problems({})


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"kernel_modules_load": "ib_umad"}, "kernel_modules_load is 'ib_umad'; allowed: a list"),
        ({"kernel_modules_load": ["ib_umad", 5]}, "kernel_modules_load[1] is 5"),
        ({"kernel_modules_load": ["-r"]}, "kernel_modules_load[0] is '-r'"),
        ({"kernel_modules_load": ["ib_ipoib; reboot"]}, "kernel_modules_load[0]"),
        ({"kernel_modules_load": ["ib-sdp"]}, "has SDP any longer"),
        ({"kernel_modules_options": ["ib_ipoib"]}, "a mapping of module names"),
        ({"kernel_modules_options": {"ib_ipoib": "send_queue_size=512"}}, "kernel_modules_options.ib_ipoib is 'send_queue_size=512'"),
        ({"kernel_modules_options": {"ib_ipoib": {"send_queue_size": [1]}}}, "kernel_modules_options.ib_ipoib.send_queue_size is [1]"),
        ({"kernel_modules_options": {"ib_ipoib": {"send_queue_size": None}}}, "is not set"),
        ({"kernel_modules_options": {"ib_ipoib": {"send_queue_size": "1 2"}}}, "without blanks"),
        ({"kernel_modules_options": {"ib_ipoib": {"send_queue_size": ""}}}, "not an empty one"),
        ({"kernel_modules_options": {"ib_ipoib": {"send queue": 1}}}, "the name of a parameter"),
        ({"kernel_modules_options": {"ib_ipoib": {"a": 1}, "ib-ipoib": {"a": 2}}}, "ib_ipoib is the same module"),
        ({"kernel_modules_options": {"ib_sdp": {"a": 1}}}, "has SDP any longer"),
        ({"kernel_modules_state": "gone"}, "allowed: present, absent"),
        ({"kernel_modules_initramfs": True}, "allowed: auto, never"),
        ({"kernel_modules_load_now": "perhaps"}, "allowed: true or false"),
        ({"kernel_modules_initramfs_cmdline": "rd.neednet=1"}, "a list of arguments"),
        ({"kernel_modules_initramfs_cmdline": ["rd.neednet=1", "ip=$(id)"]}, "kernel_modules_initramfs_cmdline[1] is 'ip=$(id)'"),
    ],
)
def test_each_problem_names_variable_value_and_what_is_allowed(variables: dict[str, t.Any], words: str) -> None:
    found = problems(variables)
    assert len(found) == 1
    assert words in str(found[0])


def test_all_problems_are_reported_at_once() -> None:
    assert len(problems({"kernel_modules_load": [1, "a b"], "kernel_modules_options": 7, "kernel_modules_state": []})) == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@given(load=JSON, options=JSON, state=JSON, now=JSON)
def test_no_type_raises(load: t.Any, options: t.Any, state: t.Any, now: t.Any) -> None:
    problems({"kernel_modules_load": load, "kernel_modules_options": options, "kernel_modules_state": state, "kernel_modules_load_now": now})


def test_booleans_are_numbers_to_the_kernel() -> None:
    assert [value_text(value) for value in (True, False, 512, "2,2")] == ["1", "0", "512", "2,2"]
