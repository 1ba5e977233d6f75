# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the settings of a port from its present ones. Pure."""

from __future__ import annotations

import typing as t

from ..._errors import Problem, require_none
from ..._plan import Change, Kind
from ..._tools import _smpquery
from ._wanted import DISABLED, ENABLED, RESET, SPEEDS, STATE, WIDTHS, Setting

if t.TYPE_CHECKING:
    from ..._tools._smpquery import PortSettings

_VERBS = {ENABLED: "enable", DISABLED: "disable", RESET: "reset"}


class Step(t.NamedTuple):
    """One change of a port, and the commands that carry it out."""

    change: Change
    calls: tuple[tuple[str, ...], ...]
    """The arguments of `ibportstate`, in order."""


def plan(subject: str, wanted: Setting, found: PortSettings) -> list[Step]:
    """The settings to make on a port, in order. Raises InvalidInput for what it does not support."""
    steps = []
    problems = []
    speeds = {_smpquery.LEAST_SPEED, *wanted.speeds} if wanted.speeds else ()
    for name, asked, now, supported, calls in (
        (WIDTHS, wanted.widths, found.widths, found.supported_widths, _smpquery.width_calls),
        (SPEEDS, speeds, found.speeds, found.supported_speeds, _smpquery.speed_calls),
    ):
        problems += [Problem(name, each, "of %s: %s" % (subject, ", ".join(supported) or "none is known")) for each in asked if each not in supported]
        if asked and set(asked) != set(now):
            change = Change(Kind.FABRIC_PORT, subject, name, ", ".join(now), ", ".join(each for each in supported if each in asked))
            steps.append(Step(change, calls(asked)))
    state = DISABLED if found.is_disabled else ENABLED
    if wanted.state == RESET and state == DISABLED:
        # The tool would enable the port, which an administrator has disabled.
        problems.append(Problem("state", wanted.state, ENABLED, "%s is disabled, and has no link to train" % subject))
    require_none(problems)
    if wanted.state in (ENABLED, DISABLED) and wanted.state != state:
        steps.append(Step(Change(Kind.FABRIC_PORT, subject, STATE, state, wanted.state), ((_VERBS[wanted.state],),)))
    elif wanted.state == RESET or (steps and state == ENABLED):
        # A port applies its settings when it trains the link.
        steps.append(Step(Change(Kind.FABRIC_PORT, subject, STATE, state, RESET), ((_VERBS[RESET],),)))
    return steps
