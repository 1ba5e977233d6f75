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
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._site._ports import port_problems

if t.TYPE_CHECKING:
    from collections.abc import Mapping


def problems(params: Mapping[str, t.Any]) -> t.List[Problem]:
    """What is wrong with the module's parameters, beyond their types."""
    found = port_problems("ports", params["ports"])
    for problem in ipoib_input.problems({"ipoib_interfaces": params["interfaces"]}):
        found.append(problem._replace(variable=problem.variable[len("ipoib_") :]))
    if params["wait"] < 0:
        found.append(Problem("wait", params["wait"], "a number of seconds, 0 or more"))
    return found


def declared_of(params: Mapping[str, t.Any]) -> Declared:
    """The wanted state from parameters that passed C(problems)."""
    return Declared(
        ports=tuple(params["ports"]),
        interfaces=wanted_of(params["interfaces"]),
        modules=tuple(params["modules"]),
        fabric=params["fabric"],
        subnet_manager=params["subnet_manager"],
        designated=params["designated"],
        designated_host=params["designated_host"],
        designated_guids=tuple(params["designated_guids"]),
    )


__all__ = ("declared_of", "problems")
