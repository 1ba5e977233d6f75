# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port of an interface: how foreign files may refer to it, and whether it supports connected mode. Pure.

The last 8 bytes of a hardware address are the port GUID. The other 12 change with each load of the driver, so foreign files, which
may hold an outdated address, are compared by these 8 bytes, as the readers of profiles do.
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
    """What identifies one interface."""

    name: str
    guid: str = ""
    """GUID of its port; "" where unknown, and for bonds."""
    pkey: int = 0
    """P_Key of a child; 0 for others."""
    pci: str = ""
    """The PCI function of its port; "" where unknown."""
    driver: str = ""
    """The driver of the PCI function; "" where unknown."""
    kind: str = ""
    """`infiniband` or `bond`; "" where unknown."""

    @property
    def parent(self) -> str:
        """The name of a child's parent; "" for others."""
        match = _CHILD.match(self.name)
        return match.group("parent") if match is not None and self.pkey else ""

    @property
    def tail(self) -> str:
        """The bytes of the GUID as in a hardware address; "" where unknown."""
        return ":".join(self.guid[at : at + 2] for at in range(2, len(self.guid), 2))

    @property
    def drivers(self) -> tuple[str, ...]:
        """The names that foreign files may use for its driver: that of the card, or that of `ethtool -i`, with and without Enhanced IPoIB."""
        return (self.driver, "ib_ipoib", "%s[ib_ipoib]" % self.driver) if self.driver else ()

    def is_on(self, pattern: str) -> bool:
        """Whether a pattern matches its adapter's udev ID_PATH, `pci-0000:03:00.0`, which may have a platform prefix."""
        whole = "pci-" + self.pci
        return self.pci != "" and (fnmatch.fnmatchcase(whole, pattern) or pattern.endswith("-" + whole))

    def is_at(self, hwaddr: str) -> bool:
        """Whether an InfiniBand hardware address means the port of this interface."""
        return self.guid != "" and hwaddr_guid(hwaddr) == self.guid

    def is_child(self, pkey: str) -> bool:
        """Whether it is the child for a P_Key of a foreign file, in decimal or hexadecimal digits."""
        return any(same_partition(number, self.pkey) for number in (decimal(pkey), hexadecimal(pkey)) if self.pkey and number)


def infiniband_ports(facts: t.Mapping[str, t.Any]) -> list[t.Mapping[str, t.Any]]:
    """The ports of the rdma facts on which ib_ipoib creates an interface, in its order. They include management functions of NVSwitches."""
    return [port for port in facts.get("ports") or () if port.get("link_layer") == "InfiniBand" and port.get("apart") != SMI]


def coming(facts: t.Mapping[str, t.Any]) -> dict[str, str]:
    """The names that the kernel gives to new interfaces, with the port GUID of each."""
    return {"ib%d" % position: str(port.get("port_guid") or "") for position, port in enumerate(infiniband_ports(facts))}


def identify(name: str, found: Found, guids: t.Mapping[str, str] | None = None) -> Identity:
    """What is known about an interface, whether or not it exists. `guids`: the declared GUIDs, by name."""
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
    # An existing interface has its port: the kernel's next name belongs to another port.
    taken = {netdev.port_guid for netdev in found.netdevs.values() if netdev.kind == "ipoib"}
    guid = (guids or {}).get(name) or coming(found.facts).get(name, "")
    return Identity(name, "" if guid in taken and name not in (guids or {}) else guid)


def predict(name: str, facts: t.Mapping[str, t.Any]) -> Capability:
    """The capability of the port that the interface `name` will be on.

    The kernel numbers `ibN` in the order of the ports. Where ports are renamed, nothing is known before the interfaces exist,
    so every port has to be capable.
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
    """The capability of a declared interface: from the interface itself, else from its parent, else from the driver."""
    netdevs = {netdev.get("name"): netdev for netdev in facts.get("netdevs") or ()}
    for candidate in (name, parent):
        netdev = netdevs.get(candidate)
        if candidate and netdev is not None:
            return Capability(bool(netdev.get("connected_capable")), str(netdev.get("connected_reason") or ""))
    return predict(parent or name, facts)
