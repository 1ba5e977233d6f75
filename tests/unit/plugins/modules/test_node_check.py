# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module: its documentation and arguments agree, and its input is validated."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from ansible.utils.plugin_docs import merge_fragment
from ansible_collections.rdma.ofed.plugins.doc_fragments import adapters
from ansible_collections.rdma.ofed.plugins.module_utils._check._expect import findings
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import problems, role_problems, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._check._words import lines
from ansible_collections.rdma.ofed.plugins.module_utils._facts._portname import FORM
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links._look import Limits
from ansible_collections.rdma.ofed.plugins.modules import node_check
from support.expected import at
from support.ipoib_node import CAPABLE, ENHANCED, FakeNode

OF_A_FABRIC = {name: argument.get("default") for name, argument in node_check.OPTIONS["fabrics"]["options"].items()}
DEFAULTS = {name: argument.get("default") for name, argument in node_check.OPTIONS.items()}


def _arguments(documented: dict[str, t.Any]) -> dict[str, t.Any]:
    found: dict[str, t.Any] = {name: {key: value for key, value in option.items() if key != "description"} for name, option in documented.items()}
    for option in found.values():
        if "suboptions" in option:
            option["options"] = _arguments(option.pop("suboptions"))
    return found


def test_documentation_and_arguments_agree() -> None:
    options = yaml.safe_load(node_check.DOCUMENTATION)["options"]
    merge_fragment(options, yaml.safe_load(adapters.ModuleDocFragment.CHECKED)["options"])
    assert _arguments(options) == node_check.OPTIONS


def test_port_guids_are_compared_in_one_form() -> None:
    fabrics = [{**OF_A_FABRIC, "designated_guids": ["0xABC", "no guid"], "standbys": {"node2": ["0xDEF"]}}]
    (wanted,) = wanted_of({**DEFAULTS, "fabrics": fabrics}).fabrics
    (empty,) = wanted_of({**DEFAULTS, "fabrics": [{"fabric": "ib", "standbys": None, "designated_guids": None}]}).fabrics
    assert (empty.standbys, empty.designated_guids) == ({}, ())
    assert [problem.variable for problem in problems({**DEFAULTS, "fabrics": [fabrics[0], fabrics[0]]})] == ["fabrics[1].fabric"]
    assert (wanted.designated_guids, wanted.standbys) == (("0x0000000000000abc", "no guid"), {"node2": ("0x0000000000000def",)})


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, []),
        ({"ports": ["mlx5_0/1"], "interfaces": [{"name": "ib0", "addresses": ["10.0.0.1/24"]}]}, []),
        ({"wait": -1}, ["wait is -1; allowed: a number of seconds, 0 or more"]),
        ({"max_effective_ber": 1.5}, ["max_effective_ber is 1.5; allowed: a share of the bits from 0 to 1, such as 1e-12"]),
        ({"ports": ["mlx5_0"]}, ["ports[0] is 'mlx5_0'; allowed: " + FORM]),
    ],
)
def test_input(parameters: dict[str, t.Any], expected: list[str]) -> None:
    assert [str(problem) for problem in problems({**DEFAULTS, **parameters})] == expected


def test_interfaces_are_judged_as_those_of_the_role() -> None:
    (problem,) = problems({**DEFAULTS, "interfaces": [{"name": "ib0", "mtu": 1}]})
    assert problem.variable == "interfaces[0].mtu"


def test_variables_of_other_roles_are_judged_as_by_them() -> None:
    wrong = {"modules": ["ib_sdp"], "kernel_modules_options": {"ib_ipoib": {"a b": 1}}, "gpudirect_commit": "main"}
    assert [problem.variable for problem in problems({**DEFAULTS, **wrong})] == ["modules[0]", "kernel_modules_options.ib_ipoib.a b", "gpudirect_commit"]


def test_wanted() -> None:
    wanted = wanted_of({**DEFAULTS, "interfaces": [{"parent": "ib0", "pkey": "0x8001"}]})
    ipoib = wanted.concerns["ipoib"]
    assert (ipoib.backend, ipoib.rollback_timeout > 0, [each.fabric for each in wanted.fabrics]) == ("auto", True, ["ib"])
    assert (set(wanted.concerns), set(wanted_of(DEFAULTS).concerns)) == ({"ipoib", "ipoib_network"}, set())


def test_cables_are_judged_by_the_limits_that_are_given() -> None:
    assert "cables" not in wanted_of(DEFAULTS).concerns
    options = {"cables": True, "cable_part_numbers": ["MCP1600-E*"], "max_effective_ber": 1e-14, "min_speed": "EDR"}
    assert wanted_of({**DEFAULTS, **options}).concerns["cables"] == Limits(("MCP1600-E*",), 1e-14, "EDR")
    # The ports are InfiniBand.
    for wrong in ("fast", "100G"):
        assert [problem.variable for problem in problems({**DEFAULTS, "min_speed": wrong})] == ["min_speed"]
    assert [problem.variable for problem in role_problems({"node_check_min_speed": ["EDR"]})][:1] == ["node_check_min_speed"]
    # YAML reads a number without a dot as a string.
    assert role_problems({"node_check_max_effective_ber": "1e-14"}) == []
    assert [problem.variable for problem in role_problems({"node_check_max_effective_ber": True})] == ["node_check_max_effective_ber"]


def test_accepted_slots_are_pci_addresses() -> None:
    assert wanted_of({**DEFAULTS, "pcie": True, "pcie_accepted": ["03:00.0", "0000:81:00.0"]}).pcie_accepted == ("0000:03:00.0", "0000:81:00.0")
    for name, judge in (("node_check_pcie_accepted", role_problems), ("pcie_accepted", lambda given: problems({**DEFAULTS, **given}))):
        # YAML has parsed an unquoted 0000:03:00.0.
        found = judge({name: ["0000:03:00.0", "mlx5_0", 180.0, "0000:03:00.0/1", True]})
        assert [problem.variable for problem in found] == ["%s[%d]" % (name, index) for index in (1, 2, 3, 4)]
        assert ["quote it" in str(problem) for problem in found] == [False, True, False, False]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fabrics", [{**OF_A_FABRIC, "ports": ["0000:03:00.0/1"]}, {**OF_A_FABRIC, "ports": ["port one"]}]),
        ("ports", ["mlx5_0/1", 7]),
        ("modules", ["ib_umad", "ib_sdp"]),
        ("modules", ["a b"]),
    ],
)
def test_a_list_is_refused_before_the_run_as_by_the_module(name: str, value: list[t.Any]) -> None:
    by_module = problems({**DEFAULTS, name: value})
    before = role_problems({"node_check_" + name: value})
    assert before and [(each.variable, each.allowed) for each in before] == [("node_check_" + each.variable, each.allowed) for each in by_module]
    assert role_problems({"node_check_" + name: value[:-1]}) == []


def test_what_the_planners_need_is_handed_through() -> None:
    given = {"modules": ["ib-umad"], "kernel_modules_options": {"ib_ipoib": {"send_queue_size": 512}}, "gpudirect": "auto", "gpudirect_allow_rebuild": True}
    wanted = wanted_of({**DEFAULTS, **given})
    modules, gpus = wanted.concerns["kernel_modules"], wanted.concerns["gpudirect"]
    assert (modules.load, modules.options) == ({"ib_umad"}, {"ib_ipoib": {"send_queue_size": "512"}})
    assert (gpus.method, gpus.allow_rebuild, gpus.source.commit) == ("auto", True, DEFAULTS["gpudirect_commit"])


@pytest.mark.parametrize("backend", ["systemd-networkd", "ifupdown", "networkmanager"])
@pytest.mark.parametrize(("hwaddr", "driver"), [(CAPABLE, "mlx4_core"), (ENHANCED, "mlx5_core")])
def test_nothing_deviates_after_the_role_ipoib(tmp_path: pathlib.Path, backend: str, hwaddr: str, driver: str) -> None:
    node = FakeNode(tmp_path, backend, hwaddr, driver)
    node.appear("ib0")
    interfaces = [{"name": "ib0", "addresses": ["10.20.0.1/24"]}, {"parent": "ib0", "pkey": "0x8001", "mode": "datagram"}]

    def deviations() -> list[str]:
        # The ports of this node have no state.
        wanted = wanted_of({**DEFAULTS, "interfaces": interfaces, "subnet_manager": False})
        found = look(at(node, tmp_path), wanted)
        return [line for line in lines(findings(wanted, found)) if not line.startswith("port ")]

    before = deviations()
    assert "interface ib0.8001: wanted present, found absent (nothing has created this P_Key child: run rdma.ofed.site --tags ipoib)" in before
    assert len([line for line in before if line.startswith("interface ")]) == 2, "one line for each object"
    node.call(interfaces=interfaces)
    assert deviations() == []
    node.addresses["ib0"] = []
    assert deviations() == ["interface ib0 addresses: wanted 10.20.0.1/24, found none (run rdma.ofed.site --tags ipoib)"]
