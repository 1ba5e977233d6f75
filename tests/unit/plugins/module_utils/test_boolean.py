# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every role interprets a boolean in the same way as ansible-core."""

from __future__ import annotations

import typing as t

import pytest
from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import BOOLEAN_WORDS, is_boolean
from support.subjects import host_problems

BOOLEANS = (
    "ipoib_backup",
    "kernel_modules_load_now",
    "kernel_modules_backup",
    "kernel_modules_assume_rdma_core",
    "ofed_tools",
    "opensm_allow_foreign_master",
    "node_check_subnet_manager",
    "node_check_fail",
)
GOOD = (True, False, 1, 0, "true", "False", "YES", "no", "On", "off", "1", "0")
BAD = (None, "", "maybe", 2, -1, 1.5, [], {}, "2")


def test_ansible_takes_every_word() -> None:
    assert {type(boolean(word)) for word in BOOLEAN_WORDS} == {bool}


@pytest.mark.parametrize("value", GOOD)
def test_good(value: t.Any) -> None:
    assert is_boolean(value)


@pytest.mark.parametrize("value", BAD)
def test_bad(value: t.Any) -> None:
    assert not is_boolean(value)


@pytest.mark.parametrize("name", BOOLEANS)
def test_all_roles_agree(name: str) -> None:
    assert [value for value in GOOD if host_problems({name: value}, None, False)] == []
    for value in BAD:
        (line,) = [str(problem) for problem in host_problems({name: value}, None, False)]
        assert line == "%s is %s; allowed: true or false" % (name, "not set" if value is None else repr(value))
