# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which variable names belong to the collection, and which are misspelt."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._plain import plain
from ansible_collections.rdma.ofed.plugins.module_utils._site._names import KNOWN, OWN, PLAIN, PUBLISHED, concerns, is_known, meant, own_problems, unknown

KNOWN_NAMES = {prefix + rest for prefix, names in KNOWN.items() for rest in names} | PLAIN
ROOT = pathlib.Path(__file__).resolve().parents[5]
ROLES = ROOT / "roles"
UNKNOWN = "(this collection has no variable %s; if it is your own, list it in rdma_own_variables)"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ipoib_interface", "ipoib_interfaces"),
        ("opensm_prio", "opensm_priority"),
        ("rdma_port", "rdma_ports"),
        ("kernel_modules_option", "kernel_modules_options"),
        ("ofed_sorce", "ofed_source"),
        ("node_check_waits", "node_check_wait"),
        ("ipoip_interfaces", "ipoib_interfaces"),
        ("ipoip_interface", "ipoib_interfaces"),
        ("kernel_module_load", "kernel_modules_load"),
        ("opemsm_rank", "opensm_rank"),
        ("opesnm_rank", "opensm_rank"),
        ("rmda_ports", "rdma_ports"),
        ("rdmaports", "rdma_ports"),
        ("ofedd_tools", "ofed_tools"),
        ("hca_firmware_allow_container", "rdma_allow_container"),
        ("gpudirect_allow_container", "rdma_allow_container"),
        ("ofed_allow_reload", "rdma_allow_reload"),
        ("fabrik", "fabric"),
        ("fabirc", "fabric"),
        ("ipoib_interfaces", ""),
        ("ipoib2_interfaces", ""),
        ("fabric_check_min_speed", "node_check_min_speed"),
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
        ("kernel_modules", "kernel_modules_load"),
        ("rdma", ""),
        ("fabrics", ""),
        ("interfaces", ""),
    ],
)
def test_meant(name: str, expected: str) -> None:
    assert meant(name) == expected


def test_the_message_names_the_right_one() -> None:
    assert [str(problem) for problem in unknown({"opensm_prio": 15, "opensm_rank": 1})] == [
        "opensm_prio is unknown; allowed: opensm_priority " + UNKNOWN % "opensm_prio"
    ]


def test_the_value_of_an_unknown_name_is_not_shown() -> None:
    (problem,) = unknown({"opensm_smkey": "0x00c0ffee"})
    assert problem.allowed == "opensm_sm_key"
    assert "c0ffee" not in repr(problem)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("ipoib_ifaces", "ipoib_interfaces"),
        ("opensm_rang", "opensm_rank"),
        ("ipoib_interfaces_common", "ipoib_interfaces"),
        ("soft_rdma_devices", "soft_rdma_links or soft_rdma_state"),
        ("rdma_allow_removals", "rdma_allow_removal"),
    ],
)
def test_an_unknown_name_with_our_beginning_is_an_error(name: str, named: str) -> None:
    (problem,) = unknown({name: []})
    assert problem.variable == name
    assert named in problem.allowed
    assert len(problem.allowed.split(" or ")) <= 3


def test_variables_of_the_site_itself_are_listed() -> None:
    assert unknown({"ipoib_prefix": "10.20", OWN: ["ipoib_prefix"]}) == []
    assert [problem.variable for problem in unknown({"ipoib_prefix": "10.20", "ipoib_ifaces": [], OWN: ["ipoib_prefix"]})] == ["ipoib_ifaces"]


@pytest.mark.parametrize("value", ["ipoib_prefix", {"ipoib_prefix": 1}, ["ipoib_prefix", 7], None])
def test_the_list_of_the_site_is_a_list_of_names(value: t.Any) -> None:
    assert [problem.variable for problem in own_problems({OWN: value})] == [OWN]


def test_what_roles_publish_and_others_own_is_no_error() -> None:
    others = {"ansible_host": "", "slurm_version": 1, "interfaces": 1, "rdmalab_port": 2, "ib_interfaces": []}
    assert unknown({**dict.fromkeys(PUBLISHED), **others}) == []
    assert [name for name in others if concerns(name)] == []


def _registered(tasks: t.Any) -> t.Iterator[str]:
    """Yield the variables that tasks register for others."""
    for task in tasks or ():
        for part in ("block", "rescue", "always", "tasks"):
            yield from _registered(task.get(part))
        if "register" in task:
            yield task["register"]
        yield from task.get("ansible.builtin.set_fact", ())


def test_what_roles_and_playbooks_publish_is_known() -> None:
    paths = [*ROOT.glob("playbooks/**/*.yml"), *ROLES.glob("*/tasks/*.yml")]
    names = {name for path in paths for name in _registered(yaml.safe_load(path.read_text()))}
    assert sorted(name for name in names if not name.startswith("__") and not is_known(name)) == []


def test_no_known_name_is_a_misspelling_of_another() -> None:
    assert [name for name in KNOWN_NAMES if meant(name)] == []


def test_the_names_are_those_of_the_roles_and_the_playbooks() -> None:
    paths = [ROOT / "meta/argument_specs.yml", *ROLES.glob("*/meta/argument_specs.yml")]
    specifications = [yaml.safe_load(path.read_text())["argument_specs"] for path in paths]
    assert {name for specification in specifications for entry in specification.values() for name in entry["options"]} | {"rdma_pending"} == KNOWN_NAMES


class Text(str):
    """Stands for ansible-core's tagged strings."""


class Number(int):
    """Stands for ansible-core's tagged numbers."""


def test_plain_values_have_base_types() -> None:
    value = plain({Text("a"): [Text("b"), Number(3), True, None, 1.5, (Text("c"),)]})
    assert value == {"a": ["b", 3, True, None, 1.5, ["c"]]}
    assert [type(key) for key in value] == [str]
    assert [type(item) for item in value["a"][:3]] == [str, int, bool]


class Encrypted:
    """Stands for a value with the tag !vault, which ansible-core up to 2.18 does not pass as a string."""

    __ENCRYPTED__ = True

    def __str__(self) -> str:
        return "0x77"


def test_encrypted_values_are_texts() -> None:
    assert plain({"m_key": Encrypted()}) == {"m_key": "0x77"}
