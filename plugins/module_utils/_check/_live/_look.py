# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read from a node what only a node in its fabric can tell. Read-only, without decisions."""

from __future__ import annotations

import os
import typing as t

from ..._errors import RdmaError
from ..._facts._netdevs import read_netdevs
from ..._facts._pcie import read_slots
from ..._facts._shared import links as read_links
from ..._facts._shared import ports as read_ports
from ..._facts._sysfs import attribute, entries, pci_address
from ..._facts._virtual import TYPES, is_virtual
from ..._host._files import read_text, under
from ..._host._units import is_masked
from ..._hosts import natural
from ..._opensm._conf import parse_conf
from ..._opensm._places import fabric_of, file_path, unit_name
from ..._opensm._processes import read_processes
from ..._opensm._told._look import listen
from ..._opensm._told._tables import read_table
from ..._performance._look import look as look_around
from ..._tools import _saquery, _sminfo, _smpquery
from ._types import Card, Live, Manager, Master, Opensm, Process, Query, Scope, choose_port, names_of, ports_on, scope_of

if t.TYPE_CHECKING:
    from ..._facts._ports import Port
    from ..._host._node import Node
    from ..._host._run import Runner


def read_parts(node: Node) -> Live:
    """Read the ports and network interfaces, which other concerns of a check need, too."""
    ports = tuple(node.once(read_ports))
    return Live(ports, read_netdevs(node.root, ports, links=node.once(read_links)), virtual=read_virtual(ports, node.root))


def look(run: Runner, scope: Scope, parts: Live, *, root: str = "/") -> Live:
    """Complete `parts` with the rest of the scope. What can't be read is returned as missing, with the reason."""
    cards = read_cards(parts.ports, root)
    live = parts._replace(
        opensm=read_opensm(root),
        cards=cards,
        slots=read_slots(root, [card.pci for card in cards.values()]) if scope.pcie else (),
        performance=look_around([card.pci for card in cards.values() if scope.performance], root),
    )
    names = names_of(scope, parts.ports, parts.netdevs, virtual=parts.virtual)
    ports = ((query, choose_port(names, parts.ports, query.ports)) for query in scope.queries)
    return live._replace(managers=tuple(_manager(run, query, port, live=live, root=root) for query, port in ports))


def read_cards(ports: t.Iterable[Port], root: str = "/") -> dict[str, Card]:
    """The adapters of the ports, by RDMA device."""
    cards = {}
    for device in sorted({port.device for port in ports}, key=natural):
        base = os.path.join(root, "sys/class/infiniband", device)
        pci = pci_address(base, "device")
        if pci and not is_virtual(root, pci):
            cards[device] = Card(pci, attribute(base, "board_id"), attribute(base, "fw_ver"))
    return cards


def read_virtual(ports: t.Iterable[Port], root: str = "/") -> tuple[str, ...]:
    """The RDMA devices that are virtual functions. A guest sees those of its host as separate cards."""
    base = os.path.join(root, "sys/class/infiniband")
    return tuple(
        device
        for device in sorted({port.device for port in ports})
        if os.path.exists(os.path.join(base, device, "device/physfn")) or attribute(base, device, "hca_type") in TYPES
    )


def read_opensm(root: str = "/") -> Opensm:
    """The opensm processes, and the units named after opensm that a target wants at boot.

    The links that `systemctl enable` creates are read: they tell what starts at the next boot, whatever systemd has loaded.
    """
    base = os.path.join(root, "etc/systemd/system")
    enabled: set[str] = set()
    for wants in entries(base):
        if wants.endswith((".wants", ".requires")):
            enabled.update(unit for unit in entries(base, wants) if "opensm" in unit and not is_masked(os.path.join(base, unit)))
    # The opensm of other software, such as the standby of UFM, is not for a role to stop.
    own = [process for process in read_processes(root) if not process.owner or any("opensm" in unit for unit in process.units)]
    processes = [Process(process.pid, next(filter(None, map(fabric_of, sorted(process.units))), ""), process.guids) for process in own]
    return Opensm(tuple(processes), tuple(sorted(enabled)))


def _bound(fabric: str, ports: t.Iterable[Port], root: str) -> Port | None:
    """The port that our opensm is bound to, according to its configuration."""
    guid = parse_conf(read_text(under(root, file_path(fabric)))).get("guid")
    return next((port for port in ports if port.port_guid == guid), None)


def _manager(run: Runner, query: Query, port: Port | None, *, live: Live, root: str) -> Manager:
    tables = {each.name: read_table(root, each) for each in ports_on(query.ports, live.ports)} if query.partitions else {}
    manager = Manager(query.fabric, port.name if port else "", tables=tables)
    if query.designated or query.standby:
        stopped = query.fabric not in {process.fabric for process in live.opensm.processes} and _is_stopped(run, query.fabric)
        bound = _bound(query.fabric, live.ports, root) or port
        manager = manager._replace(told=listen(run, query.fabric, bound, root=root), stopped=stopped)
    reason = _why_not(run, query, port)
    if port is None or reason:
        return manager._replace(unable=reason)
    try:
        answer = _sminfo.query(run, port.device, port.port)
        if answer is None:
            return manager._replace(master_error=_silence(run, port))
        master = Master(answer.guid, answer.state)
        if query.designated:
            records = _saquery.sm_records(run, port.device, port.port)
            return manager._replace(master=master, masters=None if records is None else tuple(_sminfo.masters(records)))
        name = _smpquery.answer(run, port.device, port.port, lid=answer.lid)
        return manager._replace(master=master._replace(description=name or "", answers=name is not None))
    except RdmaError as exc:
        # The error messages of infiniband-diags span several lines; a deviation is one line.
        return manager._replace(unable="; ".join(exc.msg.splitlines()))


def _silence(run: Runner, port: Port) -> str:
    """Why no subnet manager answers: either its host answers without it, or its host does not answer either."""
    words = "no subnet manager answers on port %s" % port.name
    if not port.sm_lid:
        return words
    name = _smpquery.answer(run, port.device, port.port, lid=port.sm_lid)
    if name is not None:
        return "%s: its host, %s at LID %d, answers without one: start opensm there" % (words, name or "without a name", port.sm_lid)
    return (
        "%s, nor does its host at LID %d: it is off, its cable is pulled, or the fabric is slow or loses packets; see ibqueryerrors, and 'sminfo -t 10000'"
        % (words, port.sm_lid)
    )


def _is_stopped(run: Runner, fabric: str) -> bool:
    """Whether opensm does not run and systemd knows of no failure of it."""
    if not run.has("systemctl"):
        return False
    shown = run(["systemctl", "show", "--no-pager", "-p", "ActiveState", "--", unit_name(fabric)], ok=None, timeout=20).stdout
    return shown.strip() == "ActiveState=inactive"


def _why_not(run: Runner, query: Query, port: Port | None) -> str:
    """Why the subnet manager can't be queried; "" where it can."""
    if port is None and query.ports:
        return "this node has none of its InfiniBand ports on fabric %s: %s" % (query.fabric, ", ".join(query.ports))
    if port is None:
        return "this node has no InfiniBand port"
    if port.phys_state != "LinkUp":
        return "no link on port %s: it is %s" % (port.name, port.phys_state)
    missing = [tool for tool in _sminfo.TOOLS if not run.has(tool)]
    return "%s not installed: the role ofed installs them (ofed_tools)" % " and ".join(missing) if missing else ""


def seen(node: Node, hints: t.Mapping[str, t.Any]) -> Live:
    """The look of the concern."""
    return look(node.run, scope_of(hints), read_parts(node), root=node.root)
