# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the check of a node expects of the network around its IPoIB interfaces: the planner of the role would change nothing."""

from __future__ import annotations

import typing as t

from .._expectation import Expectation
from .._finding import Code, Finding, Topic, of_change
from .._foreign import is_true
from .._plan import Kind
from . import _plan as planner
from ._concern import hints, references_of
from ._firewall._plan import NOW, RULE, dropped
from ._found import Found
from ._input import problems
from ._look import look
from ._wanted import KEEP, wanted_of

if t.TYPE_CHECKING:
    from .._expectation import Around, Variables

_PREFIX = "ipoib_network_"


def findings(options: t.Mapping[str, t.Any], found: Found, _around: Around) -> list[Finding]:
    """What the planner would change, or why it refuses."""
    wanted = wanted_of(options, found.named)
    refused = planner.refusals(wanted, found)
    # What can't be set in a container or chroot is no fault of the node.
    refused += [] if found.is_fixed else planner.overruled(wanted, found)
    if refused:
        return [Finding(Code.REFUSED, Topic.IPOIB, detail="; ".join(refused))]
    drops = dropped(wanted.names, found.firewall) if options["firewall"] == KEEP else []
    reported = [Finding(Code.FIREWALL_DROPS, Kind.FIREWALL, each.name, NOW if each.zone else RULE, found=each.zone, detail=each.firewall) for each in drops]
    return [of_change(change) for change in planner.plan(wanted, found).changes] + reported


def _wanted(variables: Variables) -> dict[str, t.Any] | None:
    options = {name[len(_PREFIX) :]: value for name, value in variables.items() if name.startswith(_PREFIX)}
    interfaces = variables["ipoib_interfaces"]
    return {**options, "interfaces": interfaces} if interfaces and options["state"] == "present" else None


EXPECTATION = Expectation(
    "ipoib_network",
    problems=problems,
    wanted=_wanted,
    # Here, the zones of firewalld matter in any case.
    hints=lambda variables: {**hints(variables), "firewall": True},
    look=lambda node, options, _around: look(node, references_of(options["interfaces"]), firewall=True, routing=is_true(options["policy_routing"])),
    form=Found,
    findings=findings,
)
