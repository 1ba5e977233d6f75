# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of the module node_check: look until the node is as declared or the time is up, and return the outcome."""

from __future__ import annotations

import os
import time
import typing as t

from .._errors import RdmaError, require_none
from .._host._node import Node
from .._host._turn import look_until
from ._input import problems, wanted_of
from ._look import look, look_at_last
from ._outcome import Outcome, judge

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner
    from ._wanted import Wanted

# Seconds between two looks. opensm needs seconds to bring a port up, so a shorter pause would only cause load.
PAUSE = 2.0


def settled(start_look: t.Callable[[], Node], wanted: Wanted, *, wait: float) -> tuple[Outcome, float]:
    """The outcome once waiting can't fix any remaining error, or after `wait` seconds, and the seconds that it took.

    Queries that take the tools seconds per adapter are run once, at the end: meanwhile the rest of the look becomes outdated.
    """
    start = time.monotonic()
    outcome = look_until(
        lambda: judge(wanted, look(start_look(), wanted)),
        lambda now: all(finding.lasting for finding in now.errors),
        patience=wait,
        pause=PAUSE,
    )
    waited = time.monotonic() - start
    last = look_at_last(start_look(), wanted, outcome.found)
    return (outcome if last == outcome.found else judge(wanted, last)), waited


def check(module: AnsibleModule, run: Runner, release: str) -> dict[str, t.Any]:
    """The result of the module. Raises RdmaError, with the result as its details, for findings that are to fail the module."""
    require_none(problems(module.params))
    wanted = wanted_of(module.params)
    wait = 0 if module.check_mode else module.params["wait"]
    outcome, waited = settled(lambda: Node(run, release, os.environ), wanted, wait=wait)
    result = outcome.result(waited)
    if outcome.errors and module.params["fail"]:
        raise RdmaError("not as declared: %s" % "; ".join(result["deviation_lines"]), **result)
    return result
