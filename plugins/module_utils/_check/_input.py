# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What may be declared to C(fabric_check), and the reading of it."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Declared
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _input as ipoib_input
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._references import resolve
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import interfaces_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabrics import read_int
from ansible_collections.rdma.ofed.plugins.module_utils._schema._fabric_check import VARIABLES
from ansible_collections.rdma.ofed.plugins.module_utils._schema._values import value_problems
from ansible_collections.rdma.ofed.plugins.module_utils._site._ports import port_problems

if t.TYPE_CHECKING:
    from collections.abc import Mapping

ROLE_TYPES: t.Mapping[str, tuple[type, str]] = {
    "fabric_check_ports": (list, "a list of ports"),
    "fabric_check_interfaces": (list, "a list of interfaces"),
    "fabric_check_modules": (list, "a list of module names"),
    "fabric_check_fabric_ports": (list, "a list of ports"),
    "fabric_check_fabric": (str, "the name of a fabric"),
    "fabric_check_designated_host": (str, "a host of the inventory"),
    "fabric_check_designated_names": (list, "a list of host names"),
    "fabric_check_designated_guids": (list, "a list of port GUIDs"),
}


def problems(params: Mapping[str, t.Any]) -> list[Problem]:
    """What is wrong with the module's parameters, beyond their types."""
    found = port_problems("ports", params["ports"]) + port_problems("fabric_ports", params["fabric_ports"])
    found += _interface_problems("interfaces", params["interfaces"])
    if params["wait"] < 0:
        found.append(Problem("wait", params["wait"], "a number of seconds, 0 or more"))
    return found


def _interface_problems(name: str, interfaces: t.Sequence[t.Any]) -> list[Problem]:
    found = ipoib_input.problems({"ipoib_interfaces": interfaces})
    return [problem._replace(variable=name + problem.variable[len("ipoib_interfaces") :]) for problem in found]


def role_problems(variables: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None = None) -> list[Problem]:
    """What is wrong with the variables C(fabric_check_*) that are set."""
    found: list[Problem] = []
    for name, (kind, allowed) in ROLE_TYPES.items():
        if name in variables and not isinstance(variables[name], kind):
            found.append(Problem(name, variables[name], allowed))
    if "fabric_check_wait" in variables and read_int(variables["fabric_check_wait"]) is None:
        found.append(Problem("fabric_check_wait", variables["fabric_check_wait"], "a number of seconds, 0 or more"))
    found += value_problems(VARIABLES, variables)
    if isinstance(variables.get("fabric_check_ports"), list):
        found += port_problems("fabric_check_ports", variables["fabric_check_ports"], facts)
    if isinstance(variables.get("fabric_check_interfaces"), list):
        found += _interface_problems("fabric_check_interfaces", variables["fabric_check_interfaces"])
    return found


def declared_of(params: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None = None) -> Declared:
    """The wanted state from parameters that passed C(problems).

    C(facts) tell what interfaces are called that are declared by their port; one that is not there keeps its GUID.
    """
    interfaces = [("interfaces[%d]" % index, item) for index, item in enumerate(params["interfaces"])]
    named = resolve(interfaces, facts).interfaces if facts is not None else [item for _path, item in interfaces]
    return Declared(
        ports=tuple(params["ports"]),
        interfaces=interfaces_of(named),
        modules=tuple(params["modules"]),
        fabric=params["fabric"],
        subnet_manager=params["subnet_manager"],
        fabric_ports=tuple(params["fabric_ports"]),
        designated=params["designated"],
        standby=params["standby"],
        designated_host=params["designated_host"],
        designated_names=tuple(params["designated_names"]),
        designated_guids=tuple(params["designated_guids"]),
        gpudirect=params["gpudirect"],
    )
