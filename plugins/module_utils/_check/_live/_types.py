# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What only a node in its fabric tells a check, beside what the planners of the roles look at. Pure; _record.py carries it to the controller."""

from __future__ import annotations

import typing as t

from ..._facts._netdevs import Netdev
from ..._facts._pcie import Slot
from ..._facts._portname import find, is_named
from ..._facts._ports import Port
from ..._hosts import natural
from ..._opensm._told._expect import Told


class Card(t.NamedTuple):
    """One function of an adapter, and what its firmware is."""

    pci: str
    psid: str = ""
    firmware: str = ""


class Master(t.NamedTuple):
    """The subnet manager that a port answers to, according to `sminfo` and its node description."""

    guid: str
    state: int
    """0 not active, 1 discovering, 2 standby, 3 master."""
    description: str = ""
    """Node description of the HCA that it runs on."""
    answers: bool = True
    """Whether its node has told the description."""


class Process(t.NamedTuple):
    """One opensm."""

    pid: int
    fabric: str = ""
    """That of its unit; "" where no unit of ours started it."""
    guids: tuple[str, ...] = ()
    """The ports that it has; none where nothing tells."""


class Opensm(t.NamedTuple):
    """opensm on this node, however it was started."""

    processes: tuple[Process, ...] = ()
    enabled: tuple[str, ...] = ()
    """Units that would start it at boot."""


class Query(t.NamedTuple):
    """A fabric whose subnet manager is queried."""

    fabric: str = "ib"
    ports: t.Sequence[str] = ()
    """The ports on it, where the node is on several; empty means any of them."""
    designated: bool = False
    standby: bool = False


class Manager(t.NamedTuple):
    """What a node sees of the subnet manager of one fabric, and of an opensm of ours for it."""

    fabric: str = "ib"
    asked: str = ""
    """The port through which it is queried; "" where there is none."""
    master: Master | None = None
    master_error: str = ""
    """Why there is no `master`, in words: the node asked, and none answered."""
    unable: str = ""
    """Why the node itself could not ask, in words."""
    masters: tuple[str, ...] | None = None
    """Port GUIDs of all masters that the subnet administrator lists; None where it was not queried."""
    told: Told = Told()
    """What an opensm of ours says of its files, where this node is to run one."""
    stopped: bool = False
    """An opensm of ours did not fail: where it does not run, it was stopped."""


class Scope(t.NamedTuple):
    """What a look is to read."""

    ports: t.Sequence[str] = ()
    """The checked ports, as declared. Subnet managers are queried through one of them, where one is ACTIVE."""
    interfaces: t.Sequence[str] = ()
    """The interfaces, by name or port GUID, whose ports are checked where no port is declared."""
    queries: t.Sequence[Query] = ()
    pcie: bool = False


class Live(t.NamedTuple):
    """A node in its fabric. What is not in the scope of the look is empty."""

    ports: tuple[Port, ...] = ()
    netdevs: tuple[Netdev, ...] = ()
    opensm: Opensm = Opensm()
    cards: t.Mapping[str, Card] = {}
    """The adapters, by RDMA device. Devices in software, and virtual functions, are none."""
    slots: tuple[Slot, ...] = ()
    """Of these cards."""
    virtual: tuple[str, ...] = ()
    """The RDMA devices that are virtual functions."""
    managers: tuple[Manager, ...] = ()
    """By fabric, in the order of the queries."""

    def manager(self, fabric: str) -> Manager:
        """What is known of the subnet manager of a fabric."""
        return next((manager for manager in self.managers if manager.fabric == fabric), Manager(fabric))


def scope_of(hints: t.Mapping[str, t.Any]) -> Scope:
    """A scope that has travelled as JSON."""
    return Scope(**{**hints, "queries": [Query(*query) for query in hints["queries"]]})


def names_of(scope: Scope, ports: t.Sequence[Port], netdevs: t.Iterable[Netdev], *, virtual: t.Container[str] = ()) -> tuple[str, ...]:
    """The checked ports by the names that they have on this node. A port that the node does not have keeps its declared name.

    Where none is declared, those under the declared interfaces and all of InfiniBand; of virtual functions, only where there are no others.
    """
    if scope.ports:
        there = [port._asdict() for port in ports]
        return tuple(dict.fromkeys(str((find(name, there) or {"name": name})["name"]) for name in scope.ports))
    under: dict[str, str] = {}
    for netdev in netdevs:
        under.update({netdev.port_guid: netdev.port, netdev.name: netdev.port})
    of_interfaces = [port for port in (under.get(name, "") for name in scope.interfaces) if port]
    rails = [port for port in ports if port.in_fabric]
    rails = [port for port in rails if port.device not in virtual] or ([] if of_interfaces else rails)
    return tuple(dict.fromkeys((*of_interfaces, *sorted((port.name for port in rails), key=natural))))


def choose_port(names: t.Collection[str], ports: t.Iterable[Port], fabric_ports: t.Sequence[str]) -> Port | None:
    """The port through which the subnet manager is queried: the first of those named that is ACTIVE, else any that is."""
    candidates = [port for port in ports if (port.infiniband and is_named(port._asdict(), fabric_ports) if fabric_ports else port.in_fabric)]
    order = {name: position for position, name in enumerate(names)}
    candidates.sort(key=lambda port: (port.state != "ACTIVE", order.get(port.name, len(order)), port.name))
    return candidates[0] if candidates else None
