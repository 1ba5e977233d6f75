# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the fabric who is its master, and judge who that is. Nothing here waits."""

from __future__ import annotations

import typing as t

from .._errors import CommandFailed, Refused
from .._facts._ports import Port, read_port
from .._tools import _saquery, _sminfo, _smpquery
from ._conf import CONF, changed_keys, parse_conf
from ._master import LOWEST, Master, outranks

if t.TYPE_CHECKING:
    from .._host._run import Runner
    from ._found import Found
    from ._wanted import Bound


class Misplaced(Refused):
    """A port is in another fabric than it is declared on."""


class View(t.NamedTuple):
    """What a port sees of its fabric."""

    state: str = ""
    """Of the port: `ACTIVE` once a subnet manager has configured it."""
    phys_state: str = ""
    answer: _sminfo.SmInfo | None = None
    """The subnet manager that answers this port."""
    managers: tuple[_sminfo.SmInfo, ...] | None = None
    """All that the master knows; None while no master answers."""

    def record(self, guid: str) -> _sminfo.SmInfo | None:
        """What the master knows of the subnet manager at `guid`."""
        return next((manager for manager in self.managers or () if manager.guid == guid), None)


def missing(view: View) -> str:
    """What keeps the fabric from having exactly one master, in words; "" if it has one, whichever it is."""
    if view.phys_state != "LinkUp":
        return "the port has no link (physical state %s): check the cable and the other end" % (view.phys_state or "unknown")
    if view.answer is None:
        return "no subnet manager answers"
    if not view.answer.is_master:
        return "the subnet manager %s that answers is in state %s" % (view.answer.guid, view.answer.state_name)
    if view.managers is None:
        return "the subnet administration of %s does not answer" % view.answer.guid
    masters = _sminfo.masters(view.managers)
    if len(masters) != 1:
        return "there are %d masters: %s" % (len(masters), ", ".join(masters) or "none")
    if masters[0] != view.answer.guid:
        return "the subnet administration names %s as master, and %s answers as such" % (masters[0], view.answer.guid)
    if view.state != "ACTIVE":
        return "the port is in state %s, not ACTIVE" % view.state
    return ""


def see(run: Runner, port: Port, root: str = "/") -> View:
    """One look, without waiting; saquery only where it can answer."""
    now = read_port(root, port.device, str(port.port))
    answer = _sminfo.query(run, port.device, port.port)
    managers = _saquery.sm_records(run, port.device, port.port) if answer is not None and answer.is_master else None
    return View(now.state, now.phys_state, answer, managers)


def is_alive(run: Runner, port: Port, before: _sminfo.SmInfo) -> bool:
    """Whether the master works: then it counts each of its datagrams, and the answer to this question is one."""
    after = _sminfo.query(run, port.device, port.port)
    return after is not None and (after.guid != before.guid or after.activity != before.activity)


def identify(run: Runner, bound: Bound, answer: _sminfo.SmInfo) -> Master:
    """Who that master is: by GUID where that is known, else by its node description."""
    known = bound.instance.known
    description = _smpquery.answer(run, bound.port.device, bound.port.port, lid=answer.lid) or ""
    host = known.host(answer.guid, description)
    return Master(answer.guid, answer.lid, answer.priority, description, host, bool(host) or answer.guid in known.guids)


def require_allowed(bound: Bound, master: Master) -> None:
    """Raises Refused for a stranger: no subnet manager is started beside one."""
    if master.known or bound.instance.known.anyone:
        return
    raise Refused(
        "fabric %s has a master that is no host of this inventory: %s (seen from port %s). Nothing was changed here. "
        "It may be a switch, a UFM appliance, a forgotten host, or a cable in another fabric: stop it there, stand by for it with "
        "opensm_allow_foreign_master: true, or leave the fabric to it with opensm_state: unmanaged" % (bound.instance.fabric, master, bound.port.name),
        master=master.details(),
    )


def intruder(run: Runner, bound: Bound, view: View) -> _sminfo.SmInfo | None:
    """The subnet manager of another fabric that a port meets: the one that answers it, or one that stands by.

    The one that answers counts in each state: of two that start at the same time, both may stand by for a while.
    """
    elsewhere = bound.instance.known.elsewhere
    if view.answer is not None and view.answer.guid in elsewhere:
        return view.answer
    for record in view.managers or ():
        # The master keeps the record of a manager that has ended, until it next looks at all ports.
        if record.guid in elsewhere and _sminfo.query(run, bound.port.device, bound.port.port, lid=record.lid) is not None:
            return record
    return None


def misplaced(run: Runner, bound: Bound, met: _sminfo.SmInfo) -> Misplaced:
    """The refusal for a port that meets a subnet manager of another fabric."""
    manager = identify(run, bound, met)
    what = met.state_name.lower() if met.is_master or met.is_standby else "subnet manager"
    return Misplaced(
        "port %s (port GUID %s) is declared on fabric %s, and sees the %s %s, which is declared on another fabric: "
        "a cable is in the wrong switch, or rdma_fabrics has the wrong port. No subnet manager is left running here that was not running before"
        % (bound.port.name, bound.port.port_guid, bound.instance.fabric, what, manager),
        master=manager.details(),
    )


def stand_below(run: Runner, bound: Bound, found: Found) -> Bound:
    """The instance with the lowest priority where a foreign master is allowed, and not to be outranked.

    That stays where the foreign master is away for a while: it would otherwise find one that it can't win over. Raises Refused where even the
    lowest priority would win.
    """
    instance, port = bound
    if not instance.known.anyone or instance.known.outranked or not run.has("sminfo"):
        return bound
    try:
        answer = _sminfo.query(run, port.device, port.port)
        master = None if answer is None or not answer.is_master or answer.guid in instance.known.own else identify(run, bound, answer)
    except CommandFailed:
        return bound
    before = parse_conf(found.files.get(instance.path(CONF), "")).get("sm_priority", "")
    if (master is None or master.known) and before != str(LOWEST):
        return bound
    if master is not None and not master.known and outranks((LOWEST, instance.guid), (master.priority, master.guid)):
        raise Refused(
            "the foreign master of fabric %s (%s) has priority %d, and would lose the election against this host even with priority %d, since its port GUID "
            "is higher than %s. Nothing was changed here. Raise its priority, set opensm_state: unmanaged, or take over from it "
            "with opensm_outrank_foreign_master: true" % (instance.fabric, master, master.priority, LOWEST, instance.guid),
            master=master.details(),
        )
    return bound._replace(instance=instance._replace(priority=LOWEST))


def guard(run: Runner, bound: Bound) -> Master | None:
    """Before a subnet manager is started: raises Refused for a stranger, and names the host of the inventory that is master now."""
    answer = _sminfo.query(run, bound.port.device, bound.port.port)
    met = intruder(run, bound, View(answer=answer))
    if met is not None:
        raise misplaced(run, bound, met)
    if answer is None or not answer.is_master or answer.guid in bound.instance.known.own:
        return None
    master = identify(run, bound, answer)
    require_allowed(bound, master)
    return master


def require_one_key(run: Runner, bound: Bound, found: Found) -> None:
    """Raises Refused where a new key would make two masters: managers with different keys ignore each other (osm_sminfo_rcv.c).

    Standbys have to end before the master gets the key, and come back with it.
    """
    instance, port = bound
    if instance.unit not in found.running or "sm_key" not in changed_keys(found.files.get(instance.path(CONF), ""), instance.conf(found.template)):
        return
    records = _saquery.sm_records(run, port.device, port.port) or ()
    others = [identify(run, bound, record).name for record in records if record.guid != instance.guid]
    if others:
        raise Refused(
            "opensm_sm_key of fabric %s is another one, and %s would not recognise this host: two masters. "
            "Nothing was changed here. Set opensm_standby: false and run the role, then change the key, then set opensm_standby: true again"
            % (instance.fabric, ", ".join(others))
        )
