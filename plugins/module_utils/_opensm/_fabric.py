# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Ask the fabric who is its master, and judge who that is. Nothing here waits."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import read_port
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _saquery, _sminfo, _smpquery

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


class Misplaced(Refused):
    """A port is in another fabric than it is declared on."""


class Known(t.NamedTuple):
    """Who may be master besides this very port."""

    own: frozenset[str] = frozenset()
    """Port GUIDs of this host."""
    guids: frozenset[str] = frozenset()
    """Port GUIDs of other hosts that may run a subnet manager."""
    hosts: tuple[str, ...] = ()
    """The hosts of the inventory; a node description begins with the name of its host."""
    anyone: bool = False
    elsewhere: frozenset[str] = frozenset()
    """Port GUIDs that are on other fabrics: a master on one of them means that a cable is in the wrong one."""


class Master(t.NamedTuple):
    """A master subnet manager that is not on this host."""

    guid: str
    lid: int
    priority: int
    description: str
    host: str = ""
    """Of the inventory; "" for a stranger, and where only the GUID is known."""
    known: bool = False
    """Is it on a host of the inventory?"""

    def __str__(self) -> str:
        return "port GUID %s, LID %d, node description %r" % (self.guid, self.lid, self.description or "(no answer)")

    @property
    def name(self) -> str:
        return self.host or self.guid

    def details(self) -> dict[str, t.Any]:
        """In the shape that a module returns."""
        return {"port_guid": self.guid, "lid": self.lid, "priority": self.priority, "node_description": self.description, "host": self.host}


class View(t.NamedTuple):
    """What a port sees of its fabric."""

    state: str = ""
    """Of the port: C(ACTIVE) once a subnet manager has configured it."""
    phys_state: str = ""
    answer: _sminfo.SmInfo | None = None
    """The subnet manager that answers this port."""
    managers: tuple[_sminfo.SmInfo, ...] | None = None
    """All that the master knows; None while no master answers."""

    @property
    def masters(self) -> list[str]:
        return [manager.guid for manager in self.managers or () if manager.is_master]

    def record(self, guid: str) -> _sminfo.SmInfo | None:
        """What the master knows of the subnet manager at C(guid)."""
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
    if len(view.masters) != 1:
        return "there are %d masters: %s" % (len(view.masters), ", ".join(view.masters) or "none")
    if view.masters[0] != view.answer.guid:
        return "the subnet administration names %s as master, and %s answers as such" % (view.masters[0], view.answer.guid)
    if view.state != "ACTIVE":
        return "the port is in state %s, not ACTIVE" % view.state
    return ""


def see(run: Runner, port: Port, root: str = "/") -> View:
    """One look, without waiting; saquery only where it can answer."""
    now = read_port(root, port.device, str(port.port))
    answer = _sminfo.query(run, port.device, port.port)
    managers = _saquery.sm_records(run, port.device, port.port) if answer is not None and answer.is_master else None
    return View(now.state, now.phys_state, answer, managers)


def identify(run: Runner, port: Port, answer: _sminfo.SmInfo, known: Known) -> Master:
    """Who that master is: by GUID where that is known, else by its node description."""
    description = _smpquery.node_description(run, port.device, port.port, answer.lid)
    host = known_host(description, known.hosts)
    return Master(answer.guid, answer.lid, answer.priority, description, host, bool(host) or answer.guid in known.guids)


def known_host(description: str, hosts: t.Iterable[str]) -> str:
    """The inventory host that a node description such as C(node1 mlx5_0) belongs to; "" for a stranger."""
    words = description.split()
    if not words:
        return ""
    name = words[0].lower()
    by_name = {host.lower(): host for host in hosts}
    by_short = {host.lower().split(".", 1)[0]: host for host in by_name.values()}
    return by_name.get(name) or by_short.get(name.split(".", 1)[0], "")


def outranks(one: tuple[int, str], other: tuple[int, str]) -> bool:
    """Does the one win the election? C((priority, port GUID)); of equal priorities the lower GUID."""
    return one[0] > other[0] or (one[0] == other[0] and int(one[1], 16) < int(other[1], 16))


def refuse(master: Master, fabric: str, port: Port) -> Refused:
    """The error that keeps anything from being started beside a stranger."""
    return Refused(
        "fabric %s has a master that is no host of this inventory: %s (seen from port %s). Nothing was changed here. "
        "It may be a switch, a UFM appliance, a forgotten host, or a cable in another fabric: stop it there, or set opensm_allow_foreign_master: true"
        % (fabric, master, port.name),
        master=master.details(),
    )


def require_own_fabric(run: Runner, port: Port, fabric: str, answer: _sminfo.SmInfo | None, known: Known) -> None:
    """Raises Misplaced where the master that a port sees belongs to another fabric than the port does."""
    if answer is None or not answer.is_master or answer.guid not in known.elsewhere:
        return
    master = identify(run, port, answer, known)
    raise Misplaced(
        "port %s (port GUID %s) is declared on fabric %s, and sees the master %s, which is declared on another fabric: "
        "a cable is in the wrong switch, or rdma_fabrics has the wrong port. No subnet manager is left running here that was not running before"
        % (port.name, port.port_guid, fabric, master),
        master=master.details(),
    )


def guard(run: Runner, port: Port, fabric: str, known: Known) -> Master | None:
    """Before a subnet manager is started: raises Refused for a stranger, and names the host of the inventory that is master now."""
    answer = _sminfo.query(run, port.device, port.port)
    require_own_fabric(run, port, fabric, answer, known)
    if answer is None or not answer.is_master or answer.guid in known.own:
        return None
    master = identify(run, port, answer, known)
    if not master.known and not known.anyone:
        raise refuse(master, fabric, port)
    return master
