# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""One call of the module fabric_check: look until the node is as declared or the time is over."""

from __future__ import annotations

import os
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._input import problems, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._look import look, look_at_adapters
from ansible_collections.rdma.ofed.plugins.module_utils._check._outcome import judge, until_ok
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, RdmaError

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._check._outcome import Outcome
    from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Found, Wanted
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def settled(
    run: Runner,
    wanted: Wanted,
    release: str,
    *,
    wait: float,
    clock: t.Callable[[], float] = time.monotonic,
    sleep: t.Callable[[float], None] = time.sleep,
    root: str = "/",
) -> tuple[Outcome, float]:
    """The outcome once nothing is left that waiting could mend, or `wait` seconds are over; with the seconds that it took.

    Links, cables and firmware are read at the end, and once: it takes the tools seconds for each adapter, in which the rest of a look grows old.
    """
    seen: list[Found] = []

    def once() -> Outcome:
        seen[:] = [look(run, wanted, release, environ=os.environ, root=root)]
        return judge(wanted, seen[0])

    outcome, waited = until_ok(once, wait, clock=clock, sleep=sleep)
    if wanted.links is None and wanted.firmware is None:
        return outcome, waited
    return judge(wanted, look_at_adapters(run, wanted, seen[0], root=root)), waited


def check(module: AnsibleModule, run: Runner, release: str) -> dict[str, t.Any]:
    """The result of the module. Raises RdmaError, with the result as its details, for findings that shall be a failure."""
    wrong = problems(module.params)
    if wrong:
        raise InvalidInput(wrong)
    wanted = wanted_of(module.params)
    wait = 0 if module.check_mode else module.params["wait"]
    outcome, waited = settled(run, wanted, release, wait=wait)
    result = {**outcome.result(), "waited": round(waited, 1)}
    if outcome.findings and module.params["fail"]:
        raise RdmaError("not as declared: %s" % "; ".join(result["deviation_lines"]), **result)
    return {"changed": False, "ok": not outcome.findings, **result}
