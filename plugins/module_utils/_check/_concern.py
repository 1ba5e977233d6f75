# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the check on the controller, on what one look found. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Concern, judged
from .._errors import RdmaError, Undecided
from .._expectations import EXPECTATIONS
from .._record import decode
from .._schema._node_check import VARIABLES
from ._expect import fabric_port, scope_of
from ._found import Found
from ._input import problems, role_problems, variables_of, wanted_of
from ._live._types import Live
from ._outcome import judge

OWN = "node_check"


def hints(params: t.Mapping[str, t.Any]) -> dict[str, t.Mapping[str, t.Any]]:
    """What the look needs to know, by concern; empty where the module has to run on the node. `params`: the parameters of the module."""
    if problems(params):
        return {}
    wanted, variables = wanted_of(params), variables_of(params)
    found = {}
    for each in EXPECTATIONS:
        if each.name in wanted.concerns:
            needed = each.hints(variables)
            if needed is None:
                return {}
            found[each.name] = needed
    under = [interface.over for interface in wanted.interfaces()]
    return {**found, OWN: scope_of(wanted)._replace(interfaces=under)._asdict()}


def unchanged(params: t.Mapping[str, t.Any], looks: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """The result of the module where nothing is an error; None where there is an error or the answer is uncertain.

    `looks`: what the look returned, by concern, for the hints of these parameters.
    """
    needed = hints(params)
    if not needed or not set(needed) <= set(looks):
        return None
    wanted, live = wanted_of(params), decode(Live, looks[OWN])
    found = Found(live, {each.name: decode(each.form, looks[each.name]) for each in EXPECTATIONS if each.form is not None and each.name in needed})
    try:
        ports = [fabric_port(wanted, found, fabric) for fabric in wanted.fabrics] if wanted.subnet_manager else []
        outcome = judge(wanted, found)
    except (RdmaError, Undecided):
        # The module reports the error.
        return None
    asked = [port.name if port is not None else "" for port in ports]
    return None if outcome.errors or [manager.asked for manager in live.managers] != asked else outcome.result()


CONCERN = Concern(OWN, VARIABLES, problems=judged(role_problems), reports=True, seen=Live)
