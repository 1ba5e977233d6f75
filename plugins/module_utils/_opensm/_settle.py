# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""After a subnet manager is started: wait until the fabric has exactly one master, and it is the one that inventory wants.

Where that can't come about by this host alone (the old master has not heard yet that it is none any more), waiting is of no
use: the run says so, and goes on.
"""

from __future__ import annotations

import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import identify, missing, outranks, refuse, require_own_fabric, see
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabrics import MAX_PRIORITY
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._instances import MASTER
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _sminfo

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import Known, View
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance

INTERVAL_SECONDS = 0.5
STANDBY = 2
# The part of the time to wait after which the master is told of an instance that it does not know, each time.
PATIENCE = 0.15


class Verdict(t.NamedTuple):
    """Of one look at the fabric."""

    wait: str = ""
    """What is not right yet, in words; "" where nothing is to be waited for."""
    note: str = ""
    """What is settled, but not as inventory wants it."""
    unknown: bool = False
    """Does the master not know this instance?"""


class Settled(t.NamedTuple):
    """How the fabric of an instance is managed."""

    view: View
    note: str = ""
    host: str = ""
    """The host of the master, where it is another one and known by name."""


def verdict(view: View, instance: Instance, designated: str = "") -> Verdict:
    """Is the fabric managed as it shall be, as far as this instance can help it?"""
    wrong = missing(view)
    answer = view.answer
    if wrong or answer is None:
        return Verdict(wrong)
    own = (instance.priority, instance.guid)
    if answer.guid == instance.guid:
        if answer.priority != instance.priority:
            return Verdict("it has priority %d still, not %d" % (answer.priority, instance.priority))
        heirs = [manager for manager in view.managers or () if outranks((manager.priority, manager.guid), own)]
        if heirs and instance.role != MASTER:
            return Verdict("it is master, and %s has not taken over yet" % heirs[0].guid)
        where = "the designated host %s" % designated if designated else "the designated host"
        return Verdict(note="" if instance.role == MASTER else "this standby is master of fabric %s, because %s runs none" % (instance.fabric, where))
    record = view.record(instance.guid)
    if record is None or record.state != STANDBY:
        state = "is in state %s" % record.state_name if record else "is not known to it"
        return Verdict("%s is master, and this one, %s, %s" % (answer.guid, instance.guid, state), unknown=record is None)
    if instance.role == MASTER and outranks(own, (answer.priority, answer.guid)):
        return Verdict("%s is master with priority %d, and has not handed over yet" % (answer.guid, answer.priority))
    return Verdict(note="" if instance.role != MASTER else "another one")


def _alive(run: Runner, port: Port, before: _sminfo.SmInfo) -> bool:
    """A subnet manager that works counts: each of its datagrams, an answer to this very question, too."""
    after = _sminfo.query(run, port.device, port.port)
    return after is not None and (after.guid != before.guid or after.activity != before.activity)


def settle(
    run: Runner, port: Port, instance: Instance, known: Known, timeout: float, announce: t.Callable[[int], None] = lambda told: None, designated: str = ""
) -> Settled:
    """Wait until the fabric of an instance has one master and the instance its place; the error tells what was seen last.

    C(announce) tells the master of the instance, and is given how often it has done so.
    Raises Refused where the master is a stranger that was not allowed, Misplaced where it is one of another fabric.
    """
    begun = time.monotonic()
    deadline = begun + timeout
    # Standbys that come at the same time have different priorities, and so don't stay in step.
    patience = timeout * PATIENCE * (1 + (MAX_PRIORITY - instance.priority) / 10)
    patient, told = begun + patience, 0
    while True:
        view = see(run, port)
        require_own_fabric(run, port, instance.fabric, view.answer, known)
        found = verdict(view, instance, designated)
        if found.unknown and patient <= time.monotonic() < deadline:
            announce(told)
            patient, told = time.monotonic() + patience, told + 1
        wrong = found.wait
        if not wrong and view.answer is not None and not _alive(run, port, view.answer):
            wrong = "%s answers as master, and its activity count stays at %d: it hangs" % (view.answer.guid, view.answer.activity)
        if not wrong:
            return _settled(run, port, instance, known, view, found.note)
        if time.monotonic() >= deadline:
            raise RdmaError(
                "fabric %s is not managed as declared after %g s: %s (port %s, state %s, port GUID %s). Next: journalctl -u %s"
                % (instance.fabric, timeout, wrong, port.name, view.state, port.port_guid, instance.unit)
            )
        time.sleep(INTERVAL_SECONDS)


def _settled(run: Runner, port: Port, instance: Instance, known: Known, view: View, note: str) -> Settled:
    answer = view.answer
    if answer is None or answer.guid in known.own:
        return Settled(view, note)
    master = identify(run, port, answer, known)
    if not master.known and not known.anyone:
        raise refuse(master, instance.fabric, port)
    if not master.known:
        note = "fabric %s is managed by the foreign master %s, which was allowed" % (instance.fabric, answer.guid)
    elif note:
        note = "fabric %s is still managed by %s, with priority %d: it hands over when this role has run there, and this one stands by" % (
            instance.fabric,
            master.name,
            answer.priority,
        )
    return Settled(view, note, master.host)
