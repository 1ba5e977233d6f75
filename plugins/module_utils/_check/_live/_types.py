# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What only a node in its fabric tells a check, besides what the planners of the roles read. Pure; _record.py carries it to the controller."""

from __future__ import annotations

import typing as t

from ..._facts._netdevs import Netdev
from ..._facts._pcie import Slot
from ..._facts._portname import find, is_named
from ..._facts._ports import Port
from ..._hosts import natural
from ..._opensm._told._expect import Told
from ..._performance._found import Found as Performance


class Card(t.NamedTuple):
    """One function of an adapter, and its firmware."""

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
    """Whether its node has returned the description."""


class Process(t.NamedTuple):
    """One opensm process."""

    pid: int
    fabric: str = ""
    """The fabric of its unit; "" where no unit of ours started it."""
    guids: tuple[str, ...] = ()
    """The ports that it has opened; empty where they are unknown."""


class Opensm(t.NamedTuple):
    """opensm on this node, however it was started."""

    processes: tuple[Process, ...] = ()
    enabled: tuple[str, ...] = ()
    """Units that would start it at boot."""


class Query(t.NamedTuple):
    """A fabric whose subnet manager is queried."""

    fabric: str = "ib"
    ports: t.Sequence[str] = ()
    """The ports on it, for a node on several fabrics; empty means any port."""
    designated: bool = False
    standby: bool = False
    partitions: bool = False
    """Whether the node is in partitions, so that the P_Key tables of its ports are read."""


class Manager(t.NamedTuple):
    """What a node sees of the subnet manager of one fabric, and of our opensm for it."""

    fabric: str = "ib"
    asked: str = ""
    """The port through which it is queried; "" where there is none."""
    master: Master | None = None
    master_error: str = ""
    """Why there is no `master`, in words: the node sent a query, and no subnet manager answered."""
    unable: str = ""
    """Why the node could not send a query, in words."""
    masters: tuple[str, ...] | None = None
    """Port GUIDs of all masters that the subnet administrator lists; None where it was not queried."""
    told: Told = Told()
    """What our opensm says about its files, where this node is to run one."""
    stopped: bool = False
    """Whether our opensm did not fail: if it does not run, it was stopped."""
    tables: t.Mapping[str, t.Mapping[int, bool]] = {}
    """The P_Key tables of the ports on the fabric, by port name, as `table_of` reads them; empty where they are not needed."""


class Scope(t.NamedTuple):
    """What a look has to read."""

    ports: t.Sequence[str] = ()
    """The checked ports, as declared. Subnet managers are queried through an ACTIVE one, if there is one."""
    interfaces: t.Sequence[str] = ()
    """The interfaces, by name or port GUID, whose ports are checked where no port is declared."""
    queries: t.Sequence[Query] = ()
    pcie: bool = False
    performance: bool = False


class Live(t.NamedTuple):
    """A node in its fabric. What is outside the scope of the look is empty."""

    ports: tuple[Port, ...] = ()
    netdevs: tuple[Netdev, ...] = ()
    opensm: Opensm = Opensm()
    cards: t.Mapping[str, Card] = {}
    """The hardware adapters, by RDMA device, without software devices and virtual functions."""
    slots: tuple[Slot, ...] = ()
    """The PCIe links of these cards."""
    virtual: tuple[str, ...] = ()
    """The RDMA devices that are virtual functions."""
    managers: tuple[Manager, ...] = ()
    """One per fabric, in the order of the queries."""
    performance: Performance = Performance()

    def manager(self, fabric: str) -> Manager:
        """What is known of the subnet manager of a fabric."""
        return next((manager for manager in self.managers if manager.fabric == fabric), Manager(fabric))


def scope_of(hints: t.Mapping[str, t.Any]) -> Scope:
    """A scope from its JSON form."""
    return Scope(**{**hints, "queries": [Query(*query) for query in hints["queries"]]})


def names_of(scope: Scope, ports: t.Sequence[Port], netdevs: t.Iterable[Netdev], *, virtual: t.Container[str] = ()) -> tuple[str, ...]:
    """The checked ports, by their names on this node. A port that the node lacks keeps its declared name.

    Without a declared port: the ports under the declared interfaces and all InfiniBand ports, with virtual functions only where there are no others.
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


def ports_on(fabric_ports: t.Sequence[str], ports: t.Iterable[Port]) -> list[Port]:
    """The ports of a node that are on a fabric."""
    return [port for port in ports if (port.infiniband and is_named(port._asdict(), fabric_ports) if fabric_ports else port.in_fabric)]


def choose_port(names: t.Collection[str], ports: t.Iterable[Port], fabric_ports: t.Sequence[str]) -> Port | None:
    """The port through which the subnet manager is queried: the first of the named ports that is ACTIVE, else any ACTIVE port."""
    candidates = ports_on(fabric_ports, ports)
    order = {name: position for position, name in enumerate(names)}
    candidates.sort(key=lambda port: (port.state != "ACTIVE", order.get(port.name, len(order)), port.name))
    return candidates[0] if candidates else None
