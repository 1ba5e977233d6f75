# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the check on the controller, on what one look found. Pure."""

from __future__ import annotations

import typing as t

from .._concern import STATE, Concern, judged
from .._errors import RdmaError, Undecided
from .._expectations import EXPECTATIONS
from .._record import decode
from .._schema._node_check import VARIABLES
from ._discovery import DISCOVERY
from ._expect import fabric_port, scope_of
from ._found import Found
from ._input import problems, role_problems, variables_of, wanted_of
from ._live._types import Live
from ._outcome import judge

if t.TYPE_CHECKING:
    from ._wanted import Wanted

OWN = "node_check"


def _needed(params: t.Mapping[str, t.Any]) -> tuple[Wanted, dict[str, t.Mapping[str, t.Any]]] | None:
    """The wanted state and what the look needs to know for it, by concern; None where the module has to run on the node."""
    if problems(params):
        return None
    wanted, variables = wanted_of(params), variables_of(params)
    hints = {each.name: each.hints(variables) for each in EXPECTATIONS if each.name in wanted.concerns}
    known = {name: needed for name, needed in hints.items() if needed is not None}
    if len(known) < len(hints):
        return None
    under = [interface.over for interface in wanted.interfaces()]
    return wanted, {**known, OWN: scope_of(wanted)._replace(interfaces=under)._asdict()}


def hints(params: t.Mapping[str, t.Any]) -> dict[str, t.Mapping[str, t.Any]]:
    """What the look needs to know, by concern; empty where the module has to run on the node. `params`: the parameters of the module."""
    needed = _needed(params)
    return {} if needed is None else needed[1]


def unchanged(params: t.Mapping[str, t.Any], looks: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """The result of the module where nothing is an error; None where there is an error or the answer is uncertain.

    `looks`: what the look returned, by concern, for the hints of these parameters.
    """
    needed = _needed(params)
    if needed is None or not set(needed[1]) <= set(looks):
        return None
    wanted, live = needed[0], decode(Live, looks[OWN])
    forms = {each.name: each.form for each in EXPECTATIONS if each.name in needed[1]}
    found = Found(live, {name: decode(form, looks[name]) for name, form in forms.items() if form is not None})
    try:
        ports = [fabric_port(wanted, found, fabric) for fabric in wanted.fabrics] if wanted.subnet_manager else []
        outcome = judge(wanted, found)
    except (RdmaError, Undecided):
        # The module reports the error.
        return None
    asked = [port.name if port is not None else "" for port in ports]
    return None if outcome.errors or [manager.asked for manager in live.managers] != asked else outcome.result()


CONCERN = Concern(OWN, VARIABLES, problems=judged(role_problems), reports=True, lacks=lambda _subject: STATE, seen=Live, discovery=DISCOVERY)
