# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Whether a port can do connected mode: what the kernel says of an interface, else what its driver is known for."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._connected import Capability, of_driver
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack, connected_refused
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import KERNEL_MTU, MTU_MAX, Interface


def infiniband_ports(facts: t.Mapping[str, t.Any]) -> list[t.Mapping[str, t.Any]]:
    """The ports of the rdma facts on which ib_ipoib makes a netdev, in the order in which it does."""
    return [port for port in facts.get("ports") or () if port.get("link_layer") == "InfiniBand"]


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
    numbered = re.match(r"^ib(\d+)$", name)
    if numbered and int(numbered.group(1)) < len(capabilities):
        return capabilities[int(numbered.group(1))]
    return next((capability for capability in capabilities if not capability.capable), capabilities[0])


def capability_of(name: str, parent: str, facts: t.Mapping[str, t.Any]) -> Capability:
    """The capability on a declared interface: its own netdev, else its parent's, else the driver's."""
    netdevs = {netdev.get("name"): netdev for netdev in facts.get("netdevs") or ()}
    for candidate in (name, parent):
        netdev = netdevs.get(candidate)
        if candidate and netdev is not None:
            return Capability(bool(netdev.get("connected_capable")), str(netdev.get("connected_reason") or ""))
    return predict(parent or name, facts)


def settled(declared: t.Sequence[Interface], facts: t.Mapping[str, t.Any]) -> tuple[Interface, ...]:
    """The declared interfaces with their open choices made: `auto` is connected where the port can; a connected interface gets the largest MTU.

    `auto` of a bond is connected where each of its ports can. A bond always gets an MTU, which is that of its ports too: the kernel
    would make it with Ethernet's 1500 and force that on them.
    """
    by_name = {item.name: item for item in declared}
    ports = {item.name: tuple(by_name[port] for port in item.bond.ports) for item in declared if item.bond is not None}
    return tuple(_settled(item, _of_ports(ports.get(item.name) or ports.get(item.master) or (item,), facts)) for item in declared)


def _of_ports(ports: t.Sequence[Interface], facts: t.Mapping[str, t.Any]) -> Capability:
    """Of all ports together: what one can't do, the others must not."""
    capabilities = [(port.name, capability_of(port.name, port.parent, facts)) for port in ports]
    name, capability = next(((name, capability) for name, capability in capabilities if not capability.capable), capabilities[0])
    return capability if len(ports) == 1 else Capability(capability.capable, "%s: %s" % (name, capability.reason))


def _settled(item: Interface, capability: Capability) -> Interface:
    if item.mode == "auto":
        mode, reason = ("connected" if capability.capable else "datagram"), "auto: " + capability.reason
    else:
        mode, reason = item.mode, "declared"
    bonded = item.bond is not None or bool(item.master)
    mtu = MTU_MAX["connected"] if mode == "connected" else (KERNEL_MTU if bonded else 0)
    return item._replace(mode=mode, mode_reason=reason, mtu=item.mtu or mtu)
