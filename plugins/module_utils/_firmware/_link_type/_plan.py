# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find changes of a link type that would take a port away from its users. Pure.

A site declares link types for a model, and the management port of a node may be on a card of that model.
"""

from __future__ import annotations

import re
import typing as t

from ..._errors import Refused
from ..._facts._netdevs import below
from ..._facts._portname import full_address
from ..._foreign import decimal
from ..._plan import Change, Kind
from .._config._values import same
from .._devices import title

if t.TYPE_CHECKING:
    from ..._facts._netdevs import Netdev
    from .._config._plan import ConfigPlan

_LINK_TYPE = re.compile(r"^LINK_TYPE(?:_P([0-9]{1,2}))?\Z")


class Network(t.NamedTuple):
    """The interfaces of the node, and what must not be cut off."""

    netdevs: tuple[Netdev, ...] = ()
    functions: t.Mapping[str, str] = {}
    """The PCI function below each hardware interface."""
    rdma: t.Mapping[str, str] = {}
    """The PCI function below each RDMA device."""
    default_routes: frozenset[str] = frozenset()
    """The interfaces that have a default route."""
    ssh: str = ""
    """The interface of the management connection; "" where there is none, or where it is unknown."""


def changed_links(plans: t.Sequence[ConfigPlan]) -> list[tuple[ConfigPlan, str, str, str]]:
    """The link types that a set changes, compared with those that the running firmware uses: plan, parameter, present and new value."""
    found = []
    for one in plans:
        for name, value in one.after().items():
            row = one.rows.get(name)
            if row is None or not _LINK_TYPE.match(name):
                continue
            now = row.next if row.current is None else row.current
            if not same(value, now):
                found.append((one, name, now, value))
    return found


def interfaces_of(name: str, functions: t.Sequence[str], network: Network) -> list[Netdev]:
    """The interfaces of the port that a parameter is about: those of the function with its number, or those with its number on the only function.

    If neither identifies the port, all interfaces of the card count.
    """
    match = _LINK_TYPE.match(name)
    port = match.group(1) if match else None
    own = [netdev for netdev in network.netdevs if network.functions.get(netdev.name) in functions]
    if port is None:
        return own
    several = len({function.rpartition(".")[2] for function in functions}) > 1
    if several:
        return [netdev for netdev in own if network.functions[netdev.name].endswith(".%d" % (decimal(port, 0) - 1))]
    return [netdev for netdev in own if netdev.port.rpartition("/")[2] in ("", port)]


def uses_of(netdev: Netdev, network: Network) -> list[str]:
    """What depends on the interface, in words."""
    above = [other for other in network.netdevs if netdev.name in {lower.name for lower in below(other.name, network.netdevs)}]
    names = {other.name for other in above}
    addresses = sorted(address for other in above for address in (*other.addresses, *other.dynamic_addresses))
    found = []
    if network.ssh in names:
        found.append("carries the connection that manages this node")
    if names & network.default_routes:
        found.append("carries the default route")
    if addresses:
        found.append("has the address %s" % ", ".join(addresses))
    if netdev.master:
        found.append("is a member of %s" % netdev.master)
    if netdev.up and netdev.carrier:
        found.append("is up with a link")
    return found


def _is_consented(netdev: Netdev, network: Network, *, consents: t.Collection[str]) -> bool:
    function = network.functions[netdev.name]
    return any(one == netdev.name or network.rdma.get(one, full_address(one)) == function for one in consents)


def refusals(plans: t.Sequence[ConfigPlan], network: Network, consents: t.Collection[str]) -> list[str]:
    """Why link types must not be changed: one text per port, with a way to resolve it."""
    found = []
    for one, name, now, then in changed_links(plans):
        for netdev in interfaces_of(name, one.wanted.device.functions, network):
            uses = uses_of(netdev, network)
            if uses and not _is_consented(netdev, network, consents=consents):
                function = network.functions[netdev.name]
                change = Change(Kind.FIRMWARE_PARAMETER, title(one.wanted.device), name, now, then).words()
                text = (
                    "%s would remove the interface %s (%s) at the next start of the card, and that interface %s. Select the cards to change by pci, psid, "
                    "part_number or guid, so that this one is excluded, or consent with rdma_allow_link_type: ['%s'] for this host (allow_link_type of the "
                    "module)"
                )
                found.append(text % (change, netdev.name, function, " and ".join(uses), function))
    return found


def refuse_ports_in_use(plans: t.Sequence[ConfigPlan], network: Network, consents: t.Collection[str]) -> None:
    """Raise Refused with every port that would be taken away from its users."""
    found = refusals(plans, network, consents)
    if found:
        raise Refused("; ".join(found), ports=found)
