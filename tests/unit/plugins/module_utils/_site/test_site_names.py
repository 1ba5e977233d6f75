# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which names are ours, and which are misspelt."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._site._names import known_names, meant, misspelt
from ansible_collections.rdma.ofed.plugins.module_utils._site._plain import ours, plain

ROOT = pathlib.Path(__file__).resolve().parents[5]
ROLES = ROOT / "roles"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ipoib_interface", "ipoib_interfaces"),
        ("opensm_prio", "opensm_priority"),
        ("rdma_port", "rdma_ports"),
        ("kernel_modules_option", "kernel_modules_options"),
        ("ofed_sorce", "ofed_source"),
        ("fabric_check_waits", "fabric_check_wait"),
        ("ipoip_interfaces", "ipoib_interfaces"),
        ("ipoip_interface", "ipoib_interfaces"),
        ("kernel_module_load", "kernel_modules_load"),
        ("opemsm_rank", "opensm_rank"),
        ("opesnm_rank", "opensm_rank"),
        ("rmda_ports", "rdma_ports"),
        ("rdmaports", "rdma_ports"),
        ("ofedd_tools", "ofed_tools"),
        ("fabrik", "fabric"),
        ("fabirc", "fabric"),
        ("ipoib_interfaces", ""),
        ("ipoib2_interfaces", ""),
        ("ib_interfaces", ""),
        ("ipoip_address", ""),
        ("inventory_hostname", ""),
        ("role_name", ""),
        ("fabric", ""),
        ("", ""),
        ("ipoib_interfaces_common", ""),
        ("opensm_result", ""),
        ("kernel_modules_result", ""),
        ("ofed_mirror", ""),
        ("rdma_site", ""),
        ("fabrics", ""),
        ("interfaces", ""),
    ],
)
def test_meant(name: str, expected: str) -> None:
    assert meant(name) == expected


def test_the_message_names_the_right_one() -> None:
    assert [str(problem) for problem in misspelt({"opensm_prio": 15, "opensm_rank": 1})] == [
        "opensm_prio is 15; allowed: opensm_priority (no variable of this collection has that name)"
    ]


def test_no_known_name_is_a_misspelling_of_another() -> None:
    assert [name for name in known_names() if meant(name)] == []


def test_the_names_are_those_of_the_roles_and_the_playbooks() -> None:
    paths = [ROOT / "meta/argument_specs.yml", *ROLES.glob("*/meta/argument_specs.yml")]
    specifications = [yaml.safe_load(path.read_text())["argument_specs"] for path in paths]
    assert {name for specification in specifications for entry in specification.values() for name in entry["options"]} | {"rdma_pending"} == known_names()


class Text(str):
    """Stands for the tagged strings of ansible-core."""


class Number(int):
    """Stands for the tagged numbers of ansible-core."""


def test_plain_values_have_base_types() -> None:
    value = plain({Text("a"): [Text("b"), Number(3), True, None, 1.5, (Text("c"),)]})
    assert value == {"a": ["b", 3, True, None, 1.5, ["c"]]}
    assert [type(key) for key in value] == [str]
    assert [type(item) for item in value["a"][:3]] == [str, int, bool]


def test_ours() -> None:
    assert ours({"ipoib_x": 1, "fabric": "ib", "ansible_host": "a", "fabric_x": 1}, ("ipoib_",), ("fabric",)) == ["fabric", "ipoib_x"]
