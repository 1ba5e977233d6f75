# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What would cut the connection of a run. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _registry
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Backend, Interfaces
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found, Record
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._linkplan import canonical, unequal_routes


def cutting(found: Found, interfaces: Interfaces, *, removed: t.Sequence[Record], backend: Backend, touched: t.Collection[str]) -> tuple[str, ...]:
    """Changes that would cut the connection of this run. `touched`: the interfaces of which anything changes."""
    cuts = ["%s would be taken down" % record.name for record in removed if record.name in found.ssh_path]
    strange = {name for each in _registry.BACKENDS if each.strips and each is not backend for name in each.format.records(found.files)}
    held = backend.held(found)
    for interface in interfaces:
        netdev = found.netdevs.get(interface.name)
        if netdev is None or interface.name not in found.ssh_path:
            continue
        if interface.name in strange:
            cuts.append("%s would be handed over to %s" % (interface.name, backend.name))
        if netdev.mode and netdev.mode != interface.mode:
            cuts.append("%s would change its mode from %s to %s" % (interface.name, netdev.mode, interface.mode))
        gone = [address for address in canonical(netdev.addresses) if address not in canonical(interface.addresses)]
        if gone:
            cuts.append("%s would lose %s" % (interface.name, ", ".join(gone)))
        lost = unequal_routes(found.routes.get(interface.name, ()), interface.routes)[1]
        if lost:
            cuts.append("%s would lose the route to %s" % (interface.name, ", ".join(sorted(route.to for route in lost))))
        if netdev.master != interface.master:
            cuts.append("%s would go from %s to %s" % (interface.name, netdev.master or "no bond", interface.master or "no bond"))
        leaving = sorted(set(netdev.members) - set(interface.bond.ports)) if interface.bond is not None else []
        if leaving:
            cuts.append("%s would lose its port %s" % (interface.name, ", ".join(leaving)))
        if interface.name in touched and not interface.master and held is not None and interface.name not in held:
            cuts.append("%s would be brought up again by %s" % (interface.name, backend.name))
    return tuple(cuts)
