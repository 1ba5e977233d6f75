# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Whether a port can do connected mode: what the kernel says of an interface, else what its driver is known for."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Capability, of_driver
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack, connected_refused
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal


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
