# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What IPoIB needs of the network in the one look at a node, and the planning on the controller. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Concern, Subject, judged
from .._foreign import is_true
from .._plan import Plan
from .._schema._ipoib_network import OPTIONS, VARIABLES
from . import _plan as planner
from ._discovery import DISCOVERY
from ._found import Found
from ._input import option_problems, problems
from ._wanted import TRUSTED, Reference, Wanted, counted, reference_of, wanted_of

_INTERFACES = "ipoib_interfaces"


def references_of(interfaces: t.Any) -> list[Reference]:
    """The references of the interfaces that have addresses. Malformed entries are left out: the validation reports them."""
    found = (reference_of(item) for item in (interfaces if isinstance(interfaces, list) else ()))
    return [reference for reference in found if reference is not None]


def hints(variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """For the look: the references of the declared `interfaces`, and whether the zones of firewalld and the routes by source address matter."""
    rows = [list(reference) for reference in references_of(variables.get(_INTERFACES))]
    return {
        "interfaces": rows,
        "firewall": variables.get("ipoib_network_firewall") == TRUSTED,
        "routing": is_true(variables.get("ipoib_network_policy_routing")),
    }


def result_of(wanted: Wanted, found: Found, todo: Plan) -> dict[str, t.Any]:
    """The result of the module."""
    return {**todo.result(reasons=planner.overruled(wanted, found)), "shared": list(wanted.shared)}


def unchanged(options: t.Mapping[str, t.Any], found: Found) -> dict[str, t.Any] | None:
    """The result of the module where nothing is to be done on the node; None where the module has to run there."""
    if option_problems(options):
        return None
    wanted = wanted_of(options, found.named)
    unseen = (wanted.trusted.names and not found.firewall.asked) or (wanted.sources and not found.routing.asked)
    if unseen or not wanted.names <= found.examined or planner.refusals(wanted, found):
        return None
    todo = planner.plan(wanted, found)
    return None if todo else result_of(wanted, found, todo)


def _options(subject: Subject) -> dict[str, t.Any] | None:
    """The options that the role and the action plugin pass to the module."""
    options = subject.options()
    if options is None:
        return None
    return {**options, "neighbours": counted(options["neighbours"], subject.groups, subject.variables.get("rdma_hosts"))}


def _refusals(subject: Subject) -> list[str]:
    options = _options(subject)
    if options is None or option_problems(options):
        return []
    return planner.refusals(wanted_of(options, subject.found.named), subject.found)


def _settled(subject: Subject) -> bool:
    options = _options(subject)
    result = None if options is None or subject.found is None else unchanged(options, subject.found)
    return result is not None and not result["reasons"]


CONCERN = Concern(
    "ipoib_network",
    VARIABLES,
    needs=("ofed", "kernel_modules", "ipoib"),
    problems=judged(problems),
    reads=(_INTERFACES, "ipoib_network_firewall", "ipoib_network_policy_routing"),
    hints=lambda subject: hints(subject.variables),
    seen=Found,
    refusals=_refusals,
    options=OPTIONS,
    elsewhere={"interfaces": _INTERFACES, "image": "rdma_image"},
    unchanged=unchanged,
    settled=_settled,
    discovery=DISCOVERY,
)
