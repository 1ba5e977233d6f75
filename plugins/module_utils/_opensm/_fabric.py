# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Ask the fabric who is its master: before a subnet manager is started, and after."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import read_port
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _saquery, _sminfo, _smpquery

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

INTERVAL_SECONDS = 0.5


class Master(t.NamedTuple):
    """A master subnet manager that is not ours."""

    guid: str
    lid: int
    description: str

    def __str__(self) -> str:
        return "port GUID %s, LID %d, node description %r" % (self.guid, self.lid, self.description or "(no answer)")


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


def missing(view: View, guid: str, foreign: bool = False) -> str:
    """What is not right yet, in words; "" if there is exactly one master and it is C(guid) (any one, with C(foreign))."""
    if view.phys_state != "LinkUp":
        return "the port has no link (physical state %s): check the cable and the other end" % (view.phys_state or "unknown")
    if view.answer is None:
        return "no subnet manager answers"
    if not view.answer.is_master:
        return "the subnet manager %s that answers is in state %s" % (view.answer.guid, view.answer.state_name)
    if view.answer.guid != guid and not foreign:
        return "%s is master, not %s" % (view.answer.guid, guid)
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


def foreign_master(run: Runner, port: Port, own_guids: t.Collection[str]) -> Master | None:
    """The master of the fabric, if there is one and it is not on this host."""
    answer = _sminfo.query(run, port.device, port.port)
    if answer is None or not answer.is_master or answer.guid in own_guids:
        return None
    return Master(answer.guid, answer.lid, _smpquery.node_description(run, port.device, port.port, answer.lid))


def known_host(description: str, hosts: t.Iterable[str]) -> str:
    """The inventory host that a node description such as C(node1 mlx5_0) belongs to; "" for a stranger."""
    words = description.split()
    if not words:
        return ""
    name = words[0].lower()
    by_name = {host.lower(): host for host in hosts}
    by_short = {host.lower().split(".", 1)[0]: host for host in by_name.values()}
    return by_name.get(name) or by_short.get(name.split(".", 1)[0], "")


def refuse(master: Master, host: str, fabric: str, waited: float) -> Refused:
    """The error that keeps a second master from being started."""
    if host:
        text = (
            "%s is still master of fabric %s after %g s (%s); nothing was started here. "
            "Run the role on %s as well, it stops the subnet manager there: without --limit both happen in one run"
        ) % (host, fabric, waited, master, host)
    else:
        text = (
            "fabric %s has a master that is no host of this inventory: %s. Nothing was started here. "
            "It may be a switch, a UFM appliance or a forgotten host: stop it there, or set opensm_allow_foreign_master: true"
        ) % (fabric, master)
    return Refused(text, master={"port_guid": master.guid, "lid": master.lid, "node_description": master.description, "host": host})


def make_way(run: Runner, port: Port, own_guids: t.Collection[str], hosts: t.Collection[str], fabric: str, patience: float) -> None:
    """Wait until a master on another host of the inventory is gone; refuse at once for a stranger, and at last for a host."""
    deadline = time.monotonic() + patience
    while True:
        master = foreign_master(run, port, own_guids)
        if master is None:
            return
        host = known_host(master.description, hosts)
        if not host:
            raise refuse(master, "", fabric, 0)
        if time.monotonic() >= deadline:
            raise refuse(master, host, fabric, patience)
        time.sleep(INTERVAL_SECONDS)


def settle(run: Runner, port: Port, unit: str, fabric: str, timeout: float, foreign: bool = False) -> View:
    """Wait until the fabric has exactly one master, and it is this port; the error tells what was seen last."""
    deadline = time.monotonic() + timeout
    while True:
        view = see(run, port)
        wrong = missing(view, port.port_guid, foreign)
        if not wrong:
            return view
        if time.monotonic() >= deadline:
            raise RdmaError(
                "fabric %s is not managed by this host after %g s: %s (port %s, state %s, port GUID %s). Next: journalctl -u %s"
                % (fabric, timeout, wrong, port.name, view.state, port.port_guid, unit)
            )
        time.sleep(INTERVAL_SECONDS)


__all__ = ("Master", "View", "foreign_master", "known_host", "make_way", "missing", "refuse", "see", "settle")
