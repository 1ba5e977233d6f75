# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import SUPPORTED, SUPPORTED_WORDS, problems, supported
from hypothesis import given
from hypothesis import strategies as st

ROLE = pathlib.Path(__file__).resolve().parents[5] / "roles" / "ofed"
DEBIAN = {"os": {"family": "Debian", "id": "debian", "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"}}


def test_good_input_has_no_problem() -> None:
    assert not problems({"ofed_state": "present", "ofed_source": "inbox", "ofed_tools": False, "ofed_extra_packages": ["mstflint"]}, DEBIAN)
    assert not problems({})


@pytest.mark.parametrize(
    ("os_id", "version", "known"),
    [
        ("debian", "10", False),
        ("debian", "11", True),
        ("debian", "13", True),
        ("debian", "", False),
        ("ubuntu", "18.04", False),
        ("ubuntu", "20.04", True),
        ("ubuntu", "24.04", True),
        ("ubuntu", "25.10", False),
        ("rocky", "9.4", True),
        ("rhel", "10.1", True),
        ("rhel", "7.9", False),
        ("sles", "15.6", True),
        ("opensuse-tumbleweed", "20260101", False),
        ("arch", "", False),
    ],
)
def test_distributions(os_id: str, version: str, known: bool) -> None:
    assert supported(os_id, version) is known


def test_an_unsupported_distribution_is_named_with_what_is_supported() -> None:
    found = problems({}, {"os": {"family": "Arch", "id": "arch", "version": "", "name": "Arch Linux"}})
    assert [word in str(found[0]) for word in ("Arch Linux", "Debian 11 to 13", "ofed_source")] == [True] * 3


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ofed_state": "latest"}, "ofed_state is 'latest'; allowed: present, absent"),
        ({"ofed_source": "doca"}, "allowed: inbox"),
        ({"ofed_source": ["inbox"]}, "allowed: inbox"),
        ({"ofed_tools": "some"}, "true or false"),
        ({"ofed_extra_packages": "mstflint"}, "a list"),
        ({"ofed_extra_packages": ["ok", "-y"]}, "ofed_extra_packages[1] is '-y'"),
    ],
)
def test_each_problem_names_variable_value_and_what_is_allowed(variables: dict[str, t.Any], words: str) -> None:
    found = problems(variables, DEBIAN)
    assert len(found) == 1
    assert words in str(found[0])


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


@given(JSON, JSON, JSON)
def test_no_type_raises(source: t.Any, extra: t.Any, facts: t.Any) -> None:
    problems({"ofed_source": source, "ofed_state": extra, "ofed_extra_packages": extra, "ofed_tools": source}, {"os": facts})


def test_the_role_knows_the_same_distributions() -> None:
    variables = yaml.safe_load((ROLE / "vars/main.yml").read_text(encoding="utf-8"))
    assert {os_id: tuple(versions) for os_id, versions in variables["__ofed_supported"].items()} == dict(SUPPORTED)
    assert variables["__ofed_supported_words"] == SUPPORTED_WORDS


@pytest.mark.parametrize("family", ["Debian", "RedHat", "Suse"])
def test_only_installed_packages_are_removed(family: str) -> None:
    names = yaml.safe_load((ROLE / "vars" / (family + ".yml")).read_text(encoding="utf-8"))
    assert set(names["__ofed_removable_packages"]) <= set(names["__ofed_core_packages"] + names["__ofed_tool_packages"])
    assert "opensm" not in str(names)
    for state in ("present", "absent"):
        assert (ROLE / "tasks" / ("%s_%s.yml" % (state, family))).is_file()
