# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port of an interface: by what files of others may call the interface, and whether the port can do connected mode. Pure.

The last 8 bytes of a hardware address are the GUID of the port. The other 12 are others after each load of the driver, so files of others, which
have the address of some earlier day, are compared by these 8, as readers of profiles do.
"""

from __future__ import annotations

import fnmatch
import re
import typing as t

from .._facts._apart import SMI
from .._facts._connected import Capability, of_driver
from .._facts._netdevs import hwaddr_guid
from .._facts._stack import Stack, connected_refused
from .._foreign import decimal, hexadecimal
from ._wanted import parse_pkey, same_partition

if t.TYPE_CHECKING:
    from ._found import Found

_CHILD = re.compile(r"^(?P<parent>.+)\.(?P<pkey>[0-9a-fA-F]{4})$")


class Identity(t.NamedTuple):
    """One interface."""

    name: str
    guid: str = ""
    """That of its port; "" where it is not known, and of bonds."""
    pkey: int = 0
    """Of a P_Key child; 0 for others."""
    pci: str = ""
    """The PCI function of its port; "" where it is not known."""
    driver: str = ""
    """That of the PCI function; "" where it is not known."""
    kind: str = ""
    """`infiniband` or `bond`; "" where it is not known."""

    @property
    def parent(self) -> str:
        """The name of a child's parent; "" for others."""
        match = _CHILD.match(self.name)
        return match.group("parent") if match is not None and self.pkey else ""

    @property
    def tail(self) -> str:
        """The bytes of the GUID as a hardware address has them; "" where it is not known."""
        return ":".join(self.guid[at : at + 2] for at in range(2, len(self.guid), 2))

    @property
    def drivers(self) -> tuple[str, ...]:
        """What files of others may call its driver: that of the card, or as `ethtool -i` says it, with Enhanced IPoIB and without."""
        return (self.driver, "ib_ipoib", "%s[ib_ipoib]" % self.driver) if self.driver else ()

    def is_on(self, pattern: str) -> bool:
        """Whether a pattern means its adapter as udev's ID_PATH calls it, `pci-0000:03:00.0`. A platform may stand before that."""
        whole = "pci-" + self.pci
        return self.pci != "" and (fnmatch.fnmatchcase(whole, pattern) or pattern.endswith("-" + whole))

    def is_at(self, hwaddr: str) -> bool:
        """Whether a hardware address of InfiniBand means the port of this interface."""
        return self.guid != "" and hwaddr_guid(hwaddr) == self.guid

    def is_child(self, pkey: str) -> bool:
        """Whether it is the child for a P_Key as files of others have it, in decimal or in hexadecimal digits."""
        return any(same_partition(number, self.pkey) for number in (decimal(pkey), hexadecimal(pkey)) if self.pkey and number)


def infiniband_ports(facts: t.Mapping[str, t.Any]) -> list[t.Mapping[str, t.Any]]:
    """The ports of the rdma facts on which ib_ipoib makes a netdev, in the order in which it does: also on management functions of NVSwitches."""
    return [port for port in facts.get("ports") or () if port.get("link_layer") == "InfiniBand" and port.get("apart") != SMI]


def coming(facts: t.Mapping[str, t.Any]) -> dict[str, str]:
    """What the kernel calls the interfaces of the ports when it makes them, with the GUID of the port."""
    return {"ib%d" % position: str(port.get("port_guid") or "") for position, port in enumerate(infiniband_ports(facts))}


def identify(name: str, found: Found, guids: t.Mapping[str, str] | None = None) -> Identity:
    """What is known of an interface, be it there or not. `guids` are those that are declared, by name."""
    identity = _named(name, found, guids)
    port = next((port for port in found.ports if identity.guid and port.port_guid == identity.guid), None)
    if port is None:
        return identity
    hca = next((hca for hca in found.hcas if hca.name == port.device), None)
    return identity._replace(pci=port.pci or (hca.pci if hca else ""), driver=hca.driver if hca else "", kind="infiniband")


def _named(name: str, found: Found, guids: t.Mapping[str, str] | None) -> Identity:
    netdev = found.netdevs.get(name)
    if netdev is not None:
        if netdev.kind not in ("ipoib", "ipoib_child"):
            return Identity(name, kind="bond" if netdev.kind == "bond" else "")
        return Identity(name, netdev.port_guid, (parse_pkey(netdev.pkey) or 0) if netdev.parent else 0)
    match = _CHILD.match(name)
    if match is not None:
        return Identity(name, _named(match.group("parent"), found, guids).guid, hexadecimal(match.group("pkey"), 0))
    # An interface that is there has its port: the kernel's next name is for another one.
    taken = {netdev.port_guid for netdev in found.netdevs.values() if netdev.kind == "ipoib"}
    guid = (guids or {}).get(name) or coming(found.facts).get(name, "")
    return Identity(name, "" if guid in taken and name not in (guids or {}) else guid)


def predict(name: str, facts: t.Mapping[str, t.Any]) -> Capability:
    """The capability on the port that `name` will be on.

    The kernel counts `ibN` in the order of the ports. A node whose ports are renamed says nothing before they exist,
    so there every port has to be capable.
    """
    ports = infiniband_ports(facts)
    stack = facts.get("stack") or {}
    refused = connected_refused(Stack(str(stack.get("kind") or ""), ofed_version=str(stack.get("ofed_version") or "")))
    if not ports:
        return Capability(False, "the node has no InfiniBand port")
    hcas = {hca.get("name"): hca for hca in facts.get("hcas") or ()}
    cards = [hcas.get(port.get("device"), {}) for port in ports]
    capabilities = [of_driver(str(hca.get("driver") or ""), str(hca.get("type") or ""), refused) for hca in cards]
    position = decimal(name[2:]) if name.startswith("ib") else None
    if position is not None and position < len(capabilities):
        return capabilities[position]
    return next((capability for capability in capabilities if not capability.capable), capabilities[0])


def capability_of(name: str, parent: str, facts: t.Mapping[str, t.Any]) -> Capability:
    """The capability on a declared interface: its own netdev, else its parent's, else the driver's."""
    netdevs = {netdev.get("name"): netdev for netdev in facts.get("netdevs") or ()}
    for candidate in (name, parent):
        netdev = netdevs.get(candidate)
        if candidate and netdev is not None:
            return Capability(bool(netdev.get("connected_capable")), str(netdev.get("connected_reason") or ""))
    return predict(parent or name, facts)
