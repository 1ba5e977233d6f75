# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What remains to be done on a fabric, from one look at it: before a subnet manager stops or restarts, and until the fabric is settled. Pure.

A fabric is settled when it has exactly one master, and that is the master the inventory wants. Where a host alone can't bring that about, because
the old master still has to hand over, there is nothing to wait for, and the state is reported.
"""

from __future__ import annotations

import typing as t

from .._master import LOWEST, outranks
from .._placement import MASTER
from ._judge import identify, intruder, misplaced, missing, require_allowed

if t.TYPE_CHECKING:
    from .._unit import Instance
    from .._wanted import Bound
    from ._found import FabricFound


def has_moved(fabric: FabricFound) -> bool:
    """Whether the fabric has a master, and it is on another port."""
    return fabric.master is not None and fabric.master.guid != fabric.port.port_guid


def heirs(fabric: FabricFound, own: t.Collection[str]) -> list[str]:
    """Port GUIDs of the standbys on other hosts that a master hands over to. A master never hands over to a standby of the lowest priority.

    Each standby has to answer: the master keeps the record of a standby that has ended until its next heavy sweep.
    """
    standbys = [record for record in fabric.managers or () if record.guid not in own and record.is_standby and record.priority > LOWEST]
    replies = [fabric.reply(record.lid) for record in standbys]
    return [reply.guid for reply in replies if reply is not None and reply.is_standby]


def alone(fabric: FabricFound, own: t.Collection[str]) -> str:
    """Why no standby is known to take over from the port's subnet manager, in words; "" where one does. `own`: the port GUIDs of its host."""
    if has_moved(fabric) or heirs(fabric, own):
        return ""
    if fabric.master is not None:
        return "it is master on port %s, and no other subnet manager stands by" % fabric.port.name
    return "no subnet manager answers on port %s, so it is not known which one takes over" % fabric.port.name


def is_here(fabric: FabricFound) -> bool:
    """Whether the subnet manager on the port is the master."""
    return fabric.master is not None and fabric.master.guid == fabric.port.port_guid


def can_hand_over(fabric: FabricFound) -> bool:
    """Whether the subnet manager on the port is the master and a standby on another port would take over at once."""
    return is_here(fabric) and bool(heirs(fabric, [fabric.port.port_guid]))


def takes_over(fabric: FabricFound, priority: int) -> bool:
    """Whether a master on another port hands over to a subnet manager of this priority that starts on the port."""
    return has_moved(fabric) and fabric.master is not None and fabric.master.priority <= priority


def has_joined(fabric: FabricFound) -> bool:
    """Whether the subnet manager on the port has discovered the master."""
    reply = fabric.reply(fabric.port.lid)
    return reply is not None and (reply.is_standby or reply.is_master)


class Election(t.NamedTuple):
    """How one look at the fabric relates to an instance."""

    wait: str = ""
    """What is not right yet, in words; "" where there is nothing to wait for."""
    note: str = ""
    """Why the fabric is settled, but not as the inventory wants it, in words."""
    unknown: bool = False
    """Whether the master does not know this instance."""
    late: bool = False
    """Whether another subnet manager is master instead, and hands over only after the role has run on its host."""


def election(fabric: FabricFound, instance: Instance) -> Election:
    """Whether the fabric is managed as declared, as far as this instance can bring that about."""
    wrong = missing(fabric)
    answer = fabric.answer
    if wrong or answer is None:
        return Election(wrong)
    own = (instance.priority, instance.guid)
    if answer.guid == instance.guid:
        if answer.priority != instance.priority:
            return Election("it still has priority %d, not %d" % (answer.priority, instance.priority))
        if instance.role == MASTER:
            return Election()
        heirs = [manager for manager in fabric.managers or () if outranks((manager.priority, manager.guid), own)]
        if heirs:
            return Election("it is master, and %s has not taken over yet" % heirs[0].guid)
        where = "the designated host %s" % instance.designated if instance.designated else "the designated host"
        return Election(note="this standby is master of fabric %s, because %s runs none" % (instance.fabric, where))
    record = next((manager for manager in fabric.managers or () if manager.guid == instance.guid), None)
    if record is None or not record.is_standby:
        state = "is in state %s" % record.state_name if record else "is not known to it"
        return Election("%s is master, and this one, %s, %s" % (answer.guid, instance.guid, state), unknown=record is None)
    if instance.role == MASTER and outranks(own, (answer.priority, answer.guid)):
        return Election("%s is master with priority %d, and has not handed over yet" % (answer.guid, answer.priority))
    return Election(late=instance.role == MASTER)


def plan(bound: Bound, fabric: FabricFound, *, new: bool) -> Election:
    """What remains to be done until the fabric of an instance has one master and the instance its place. `new`: the instance did not run before, so
    others may still give way to it.

    Raises Refused where the master is a stranger that is not allowed, and Misplaced where the port meets a subnet manager of another fabric.
    """
    instance, answer = bound.instance, fabric.answer
    met = intruder(bound, fabric)
    # Of two that start at the same time, one has to give way: both compare the same priority and GUID, no matter which is master at the moment.
    if met is not None and not (new and outranks((instance.priority, instance.guid), (met.priority, met.guid))):
        raise misplaced(bound, fabric, met)
    found = election(fabric, instance)
    if found.wait:
        return found
    if met is not None:
        return found._replace(wait="%s, which is declared on another fabric, still runs" % met.guid)
    if answer is not None and not fabric.is_alive:
        return found._replace(wait="%s answers as master, but its activity count stays at %d: it hangs" % (answer.guid, answer.activity))
    return found._replace(note=_note(bound, fabric, found))


def _note(bound: Bound, fabric: FabricFound, found: Election) -> str:
    """What to report of a fabric that has its master, in words."""
    instance, answer = bound.instance, fabric.answer
    if answer is None or answer.guid == instance.guid:
        return found.note
    name = answer.guid
    if answer.guid not in instance.known.own:
        master = identify(bound, fabric, answer)
        require_allowed(bound, master)
        if not master.known:
            return "fabric %s is managed by the foreign master %s, which is allowed" % (instance.fabric, answer.guid)
        name = master.name
    if not found.late:
        return ""
    words = "fabric %s is still managed by %s, with priority %d: it hands over when this role has run there, and this one stands by"
    return words % (instance.fabric, name, answer.priority)
