# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module: its documentation and its arguments agree, and its input is judged."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import declared_of, problems
from ansible_collections.rdma.ofed.plugins.modules import fabric_check

DEFAULTS = {name: argument.get("default") for name, argument in fabric_check.OPTIONS.items()}


def test_documentation_and_arguments_agree() -> None:
    options = yaml.safe_load(fabric_check.DOCUMENTATION)["options"]
    documented = {name: {key: value for key, value in option.items() if key != "description"} for name, option in options.items()}
    assert documented == fabric_check.OPTIONS


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, []),
        ({"ports": ["mlx5_0/1"], "interfaces": [{"name": "ib0", "addresses": ["10.0.0.1/24"]}]}, []),
        ({"wait": -1}, ["wait is -1; allowed: a number of seconds, 0 or more"]),
        ({"ports": ["mlx5_0"]}, ["ports[0] is 'mlx5_0'; allowed: an RDMA device and port as 'rdma link' shows them, such as mlx5_0/1"]),
    ],
)
def test_input(parameters: dict[str, t.Any], expected: list[str]) -> None:
    assert [str(problem) for problem in problems({**DEFAULTS, **parameters})] == expected


def test_interfaces_are_judged_as_those_of_the_role() -> None:
    (problem,) = problems({**DEFAULTS, "interfaces": [{"name": "ib0", "mtu": 1}]})
    assert problem.variable == "interfaces[0].mtu"


def test_declared() -> None:
    declared = declared_of({**DEFAULTS, "interfaces": [{"parent": "ib0", "pkey": "0x8001"}], "designated_host": "node1"})
    assert (declared.interfaces[0].name, declared.interfaces[0].pkey, declared.designated_host) == ("ib0.8001", 0x8001, "node1")
