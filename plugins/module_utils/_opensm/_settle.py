# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a subnet manager is started: wait until the fabric has exactly one master, and it is the one that inventory wants.

Where this host alone can't bring that about (the old master still has to hand over), the run does not wait. It reports it and goes on.
The fabrics of a host are waited for together, so that none is left alone until another one is settled.
"""

from __future__ import annotations

import time
import typing as t

from .._errors import RdmaError
from ._fabric import View, identify, intruder, is_alive, misplaced, missing, require_allowed, see
from ._fabrics import MAX_PRIORITY
from ._master import outranks
from ._placement import MASTER

if t.TYPE_CHECKING:
    from .._host._run import Runner
    from .._tools._sminfo import SmInfo
    from ._unit import Instance
    from ._wanted import Bound

INTERVAL_SECONDS = 0.5
Settled = t.Tuple["View", str]
"""The last view of a fabric, and what to report of it, in words."""
# The part of the time to wait after which the master is told of an instance that it does not know, each time.
PATIENCE = 0.15


class Election(t.NamedTuple):
    """How one look at the fabric relates to an instance."""

    wait: str = ""
    """What is not right yet, in words; "" where there is nothing to wait for."""
    note: str = ""
    """What is settled, but not as inventory wants it, in words."""
    unknown: bool = False
    """Whether the master does not know this instance."""
    late: bool = False
    """Whether another one is master in its place, and hands over only when the role has run there."""


def election(view: View, instance: Instance) -> Election:
    """Whether the fabric is managed as it shall be, as far as this instance can bring that about."""
    wrong = missing(view)
    answer = view.answer
    if wrong or answer is None:
        return Election(wrong)
    own = (instance.priority, instance.guid)
    if answer.guid == instance.guid:
        if answer.priority != instance.priority:
            return Election("it has priority %d still, not %d" % (answer.priority, instance.priority))
        if instance.role == MASTER:
            return Election()
        heirs = [manager for manager in view.managers or () if outranks((manager.priority, manager.guid), own)]
        if heirs:
            return Election("it is master, and %s has not taken over yet" % heirs[0].guid)
        where = "the designated host %s" % instance.designated if instance.designated else "the designated host"
        return Election(note="this standby is master of fabric %s, because %s runs none" % (instance.fabric, where))
    record = view.record(instance.guid)
    if record is None or not record.is_standby:
        state = "is in state %s" % record.state_name if record else "is not known to it"
        return Election("%s is master, and this one, %s, %s" % (answer.guid, instance.guid, state), unknown=record is None)
    if instance.role == MASTER and outranks(own, (answer.priority, answer.guid)):
        return Election("%s is master with priority %d, and has not handed over yet" % (answer.guid, answer.priority))
    return Election(late=instance.role == MASTER)


def settle(run: Runner, bound: Bound, *, timeout: float, announce: t.Callable[[int], None], new: bool = True) -> t.Generator[None, None, Settled]:
    """Look until the fabric of an instance has one master and the instance its place; the error tells what was seen last.

    Yields between two looks. `together` waits then.
    `announce` tells the master of the instance, and takes how often it has done so. `new`: the instance did not run before.
    Raises Refused where the master is a stranger that was not allowed, Misplaced where it is one of another fabric.
    """
    instance, port = bound
    begun = time.monotonic()
    deadline = begun + timeout
    # Standbys that start at the same time have different priorities, and so do not stay in step.
    patience = timeout * PATIENCE * (1 + (MAX_PRIORITY - instance.priority) / 10)
    patient, told = begun + patience, 0
    while True:
        view = see(run, port)
        met = intruder(run, bound, view)
        # Of two that start at the same time, one has to give way: each compares the same figures, whichever of them is master at the moment.
        if met is not None and not (new and outranks((instance.priority, instance.guid), (met.priority, met.guid)) and time.monotonic() < deadline):
            raise misplaced(run, bound, met)
        found = election(view, instance)
        if found.unknown and patient <= time.monotonic() < deadline:
            announce(told)
            patient, told = time.monotonic() + patience, told + 1
        wrong = found.wait or ("%s, which is declared on another fabric, still runs" % met.guid if met is not None else "")
        if not wrong and view.answer is not None and not is_alive(run, port, view.answer):
            wrong = "%s answers as master, and its activity count stays at %d: it hangs" % (view.answer.guid, view.answer.activity)
        if not wrong:
            return view, _note(run, bound, answer=view.answer, found=found)
        if time.monotonic() >= deadline:
            raise RdmaError(
                "fabric %s is not managed as declared after %g s: %s (port %s, state %s, port GUID %s). Next: journalctl -u %s"
                % (instance.fabric, timeout, wrong, port.name, view.state, port.port_guid, instance.unit)
            )
        yield


def together(waits: t.Sequence[t.Generator[None, None, Settled]]) -> list[Settled | RdmaError]:
    """Run what `settle` returned for several fabrics side by side, until each has ended; in their order, with the error of those that failed.

    Of two hosts whose cables are swapped, the one that is outranked on a fabric leaves it at once, whatever it still waits for on another.
    """
    ended: dict[int, Settled | RdmaError] = {}
    while len(ended) < len(waits):
        for place, wait in enumerate(waits):
            if place in ended:
                continue
            try:
                next(wait)
            except StopIteration as end:
                ended[place] = end.value
            except RdmaError as exc:
                ended[place] = exc
        if len(ended) < len(waits):
            time.sleep(INTERVAL_SECONDS)
    return [ended[place] for place in range(len(waits))]


def _note(run: Runner, bound: Bound, *, answer: SmInfo | None, found: Election) -> str:
    """What to report of a fabric that has its master, in words."""
    instance = bound.instance
    if answer is None or answer.guid == instance.guid:
        return found.note
    name = answer.guid
    if answer.guid not in instance.known.own:
        master = identify(run, bound, answer)
        require_allowed(bound, master)
        if not master.known:
            return "fabric %s is managed by the foreign master %s, which was allowed" % (instance.fabric, answer.guid)
        name = master.name
    if not found.late:
        return ""
    words = "fabric %s is still managed by %s, with priority %d: it hands over when this role has run there, and this one stands by"
    return words % (instance.fabric, name, answer.priority)
