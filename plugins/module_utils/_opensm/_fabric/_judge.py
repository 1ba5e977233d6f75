# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge who is the master of a fabric and who may be. Pure."""

from __future__ import annotations

import typing as t

from ..._errors import CommandFailed, Refused, Unsupported
from ..._tools._sminfo import masters
from .._conf import CONF, changed_keys, parse_conf
from .._master import LOWEST, Master, outranks

if t.TYPE_CHECKING:
    from ..._tools._sminfo import SmInfo
    from .._found import Found
    from .._wanted import Bound
    from ._found import FabricFound


class Misplaced(Refused):
    """A port is connected to another fabric than the one it is declared on."""


def missing(fabric: FabricFound) -> str:
    """Why the fabric does not have exactly one master, in words; "" if it has one, no matter which."""
    now, answer = fabric.now, fabric.answer
    if now.phys_state != "LinkUp":
        return "the port has no link (physical state %s): check the cable and the other end" % (now.phys_state or "unknown")
    if answer is None:
        return "no subnet manager answers"
    if not answer.is_master:
        return "the subnet manager %s that answers is in state %s" % (answer.guid, answer.state_name)
    if fabric.managers is None:
        return "the subnet administration of %s does not answer" % answer.guid
    found = masters(fabric.managers)
    if len(found) != 1:
        return "there are %d masters: %s" % (len(found), ", ".join(found) or "none")
    if found[0] != answer.guid:
        return "the subnet administration names %s as master, and %s answers as such" % (found[0], answer.guid)
    if now.state != "ACTIVE":
        return "the port is in state %s, not ACTIVE" % now.state
    return ""


def identify(bound: Bound, fabric: FabricFound, manager: SmInfo) -> Master:
    """Identify a subnet manager: by port GUID where that is known, else by its node description."""
    known = bound.instance.known
    description = fabric.description(manager.lid)
    host = known.host(manager.guid, description)
    return Master(manager.guid, manager.lid, manager.priority, description, host, bool(host) or manager.guid in known.guids)


def require_allowed(bound: Bound, master: Master) -> None:
    """Raise Refused for a stranger: no subnet manager is started beside one."""
    if master.known or bound.instance.known.anyone:
        return
    raise Refused(
        "fabric %s has a master that is no host of this inventory: %s (seen from port %s). Nothing was changed here. "
        "It may be a switch, a UFM appliance, a forgotten host, or a cable in another fabric: stop it there, stand by for it with "
        "opensm_allow_foreign_master: true, or leave the fabric to it with opensm_state: unmanaged" % (bound.instance.fabric, master, bound.port.name),
        master=master.details(),
    )


def intruder(bound: Bound, fabric: FabricFound) -> SmInfo | None:
    """The subnet manager of another fabric that a port meets: the one that answers it, or a standby.

    The one that answers counts in any state: of two that start at the same time, both may be standby for a while.
    """
    elsewhere = bound.instance.known.elsewhere
    if not elsewhere:
        return None
    if fabric.answer is not None and fabric.answer.guid in elsewhere:
        return fabric.answer
    return next((record for record in fabric.managers or () if record.guid in elsewhere and fabric.reply(record.lid) is not None), None)


def misplaced(bound: Bound, fabric: FabricFound, met: SmInfo) -> Misplaced:
    """The refusal for a port that meets a subnet manager of another fabric."""
    manager = identify(bound, fabric, met)
    what = met.state_name.lower() if met.is_master or met.is_standby else "subnet manager"
    return Misplaced(
        "port %s (port GUID %s) is declared on fabric %s, and sees the %s %s, which is declared on another fabric: a cable is plugged into the wrong "
        "switch, or rdma_fabrics has the wrong port. No subnet manager is left running here that was not running before"
        % (bound.port.name, bound.port.port_guid, bound.instance.fabric, what, manager),
        master=manager.details(),
    )


def stand_below(bound: Bound, fabric: FabricFound, found: Found) -> Bound:
    """The instance with the lowest priority, where a foreign master is allowed and must not be outranked.

    The instance keeps that priority while the foreign master is away: otherwise the foreign master would come back to a manager that it can't win
    against. Raises Refused where even the lowest priority would win.
    """
    instance = bound.instance
    if not instance.known.anyone or instance.known.outranked:
        return bound
    try:
        answer = fabric.master
        master = None if answer is None or answer.guid in instance.known.own else identify(bound, fabric, answer)
    except (CommandFailed, Unsupported):
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


def guard(bound: Bound, fabric: FabricFound) -> Master | None:
    """Before a subnet manager starts: raise Refused for a stranger; return the current master if it runs on a host of the inventory."""
    answer = fabric.answer
    if answer is not None and answer.guid in bound.instance.known.elsewhere:
        raise misplaced(bound, fabric, answer)
    if answer is None or not answer.is_master or answer.guid in bound.instance.known.own:
        return None
    master = identify(bound, fabric, answer)
    require_allowed(bound, master)
    return master


def require_one_key(bound: Bound, fabric: FabricFound, found: Found) -> None:
    """Raise Refused where a new key would create two masters: managers with different keys ignore each other (osm_sminfo_rcv.c).

    Standbys have to stop before the master gets the key, and start again with it.
    """
    instance = bound.instance
    if instance.unit not in found.running or "sm_key" not in changed_keys(found.files.get(instance.path(CONF), ""), instance.conf(found.template)):
        return
    others = [identify(bound, fabric, record).name for record in fabric.managers or () if record.guid != instance.guid]
    if others:
        raise Refused(
            "opensm_sm_key of fabric %s differs from the one in use, so %s would not recognise this host, and the fabric would have two masters. Nothing "
            "was changed here. Set opensm_standby: false and run the role, then change the key, then set opensm_standby: true again"
            % (instance.fabric, ", ".join(others))
        )
