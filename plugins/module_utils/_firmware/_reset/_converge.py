# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Report what pending firmware changes need, and reset cards where that is wanted and safe."""

from __future__ import annotations

import typing as t

from ..._errors import Problem, require_none
from ..._host._lock import card_locks
from ..._plan import Pending
from ..._tools import _mlxfwreset
from .._devices import read_devices
from ._apply import Done, Node, apply, predict
from ._look import choose
from ._plan import ResetPlan, refuse_blocked, resets, result
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ..._host._run import Runner
    from ..._plan import Change
    from .._devices import Device

_LOCK_SECONDS = 120


def read_foreseen(entries: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[Change, ...]:
    """Parse the pending entries of other modules into changes. Raises InvalidInput for an invalid entry."""
    found = []
    problems = []
    for index, entry in enumerate(entries):
        try:
            found.append(Pending.of_result(entry).change)
        except (KeyError, TypeError, ValueError):
            problems.append(Problem("foreseen[%d]" % index, entry, "an entry of the key pending of mstflint or mlxconfig"))
    require_none(problems)
    return tuple(found)


def describe(todo: ResetPlan, device: Device, reset: bool) -> dict[str, t.Any]:
    """One adapter of the result."""
    card = todo.card
    return {
        "pci": card.pci,
        "functions": list(card.functions),
        "rdma": list(device.rdma),
        "type": card.type or device.type,
        "psid": device.psid,
        "pending": [Pending(change).result() for change in todo.changes],
        "needs": todo.needs,
        "why": list(todo.why),
        "can_reset": bool(card.query and {_mlxfwreset.LIVE_PATCH, _mlxfwreset.PCI_RESET} & set(card.query.levels)),
        "level": todo.level,
        "blocked_by": list(todo.blocked_by),
        "blocked_when_drained": list(todo.lasting),
        "unknown": list(card.unknown),
        "reset": reset,
    }


def converge(module: AnsibleModule, run: Runner, environ: t.Mapping[str, str], *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, reset where that is wanted, look again; returns the result of the module."""
    parameters = module.params
    devices = choose(read_devices(root), parameters["adapters"])
    real = parameters["state"] == "reset" and not module.check_mode
    foreseen = () if real else read_foreseen(parameters["foreseen"])
    node = Node(run, devices, environ, root, foreseen)
    wanted = Wanted(**{name: parameters[name] for name in Wanted._fields})
    if parameters["state"] == "query":
        done = Done(left=tuple(node.look(wanted)))
    else:
        with card_locks([device.pci for device in devices if not module.check_mode], _LOCK_SECONDS, root):
            plans = node.look(wanted)
            refuse_blocked(plans)
            done = apply(node, plans, wanted, wait=parameters["wait_timeout"]) if real and resets(plans) else predict(plans)
    unread = ["%s was not reset, because it can't be read: %s" % (todo.card.pci, "; ".join(todo.card.failures)) for todo in done.left if todo.card.failures]
    for failure in (*done.failures, *(unread if parameters["state"] == "reset" else ())):
        module.warn(failure)
    answer = result(done.changes, done.left, [*done.failures, *done.aftermath])
    answer["adapters"] = [describe(todo, device, todo.card.pci in done.reset) for todo, device in zip(done.left, devices)]
    return answer
