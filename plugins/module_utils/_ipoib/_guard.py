# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What must not be done: configure what others configure, and cut the connection that the run comes through. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _ifupdown
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._linkplan import canonical, unequal_routes
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Node
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._stacks import Stack, handed_over, rivals, stack_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Record, Target


def foreign(node: Node, targets: t.Sequence[Target], stack: Stack, paths: t.Iterable[str], is_ours: t.Callable[[str, str], bool]) -> list[str]:
    """Files of others that configure a wanted interface, or lie where ours shall be, and bonds of others that have it."""
    found = []
    for name in rivals(stack.name, node.stacks):
        rival = stack if name == stack.name else stack_of(name, node.variant)
        found += ["%s configures %s" % (path, target.name) for target in targets for path in rival.conflicts(target.name, node.files)]
    for path in sorted(paths):
        text = node.files.get(path, "")
        if text and path != _ifupdown.MAIN and not is_ours(path, text):
            found.append("%s exists and is not of this collection" % path)
    return list(dict.fromkeys(found))


def masters(node: Node, targets: t.Sequence[Target], records: t.Collection[str]) -> list[str]:
    """Wanted interfaces that are in a bond, bridge or team which is not of this collection."""
    names = {target.name for target in targets}
    found = []
    for target in targets:
        netdev = node.netdevs.get(target.name)
        if netdev is not None and netdev.master and netdev.master not in names and netdev.master not in records:
            found.append("%s is a port of %s, which is not declared" % (target.name, netdev.master))
    return found


def cutting(node: Node, targets: t.Sequence[Target], removed: t.Sequence[Record], stack: str, touched: t.Collection[str]) -> tuple[str, ...]:
    """Changes that would cut the connection that this run comes through. C(touched): the interfaces of which anything changes."""
    found = ["%s would be taken down" % record.name for record in removed if record.name in node.ssh_path]
    strange = handed_over(stack, node.files, node.variant)
    for target in targets:
        netdev = node.netdevs.get(target.name)
        if netdev is None or target.name not in node.ssh_path:
            continue
        if target.name in strange:
            found.append("%s would be handed over to %s" % (target.name, stack))
        if netdev.mode and netdev.mode != target.mode:
            found.append("%s would change its mode from %s to %s" % (target.name, netdev.mode, target.mode))
        gone = [address for address in canonical(netdev.addresses) if address not in canonical(target.addresses)]
        if gone:
            found.append("%s would lose %s" % (target.name, ", ".join(gone)))
        lost = unequal_routes(node.routes.get(target.name, ()), target.routes)[1]
        if lost:
            found.append("%s would lose the route to %s" % (target.name, ", ".join(sorted(route.to for route in lost))))
        if netdev.master != target.master:
            found.append("%s would go from %s to %s" % (target.name, netdev.master or "no bond", target.master or "no bond"))
        leaving = sorted(set(netdev.members) - set(target.bond.ports)) if target.bond is not None else []
        if leaving:
            found.append("%s would lose its port %s" % (target.name, ", ".join(leaving)))
        if target.name in touched and not target.master and target.name not in node.held.get(stack, {target.name}):
            found.append("%s would be brought up anew by %s" % (target.name, stack))
    return tuple(found)
