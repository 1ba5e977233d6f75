# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""The found state as it may leave the node: without the content of foreign files, which may hold secrets, and small. Pure.

Planning on it comes to the same result, or raises _guard.Undecided.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Hca, Port
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _guard, _registry
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found, Presence
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import coming

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Backend


def condensed(found: Found, declared: t.Mapping[str, str] | None = None) -> Found:
    """`declared` are the interfaces that a plan will be about, also those that are not there yet, with their port GUIDs or ""."""
    declared = declared or {}
    own = {name for name, netdev in found.netdevs.items() if _is_own(netdev)}
    names = sorted({*own, *_registry.recorded(found.files), *declared, *coming(found)})
    return found._replace(
        netdevs={name: _netdev(netdev) for name, netdev in found.netdevs.items()},
        files=_files(found),
        backends={name: _presence(presence, own) for name, presence in found.backends.items()},
        ssh_path=found.ssh_path & own,
        bonds={name: bond for name, bond in found.bonds.items() if name in own},
        routes={name: routes for name, routes in found.routes.items() if name in own},
        hcas=tuple(Hca(hca.name, hca.type, hca.driver, hca.pci) for hca in found.hcas),
        ports=tuple(
            Port(port.name, port.device, port.port, port.port_guid, link_layer=port.link_layer, rate_gbps=0.0, pkeys=port.pkeys) for port in found.ports
        ),
        stack=Stack(found.stack.kind, ofed_version=found.stack.ofed_version),
        ipv6_refused={name: reason for name, reason in found.ipv6_refused.items() if name in own or name not in found.netdevs},
        examined=frozenset(names),
        foreign={backend.name: _conflicts(backend, names, found, guids=declared) for backend in _registry.BACKENDS},
    )


def _is_own(netdev: Netdev) -> bool:
    """Whether a declared interface may mean it."""
    return netdev.kind in ("ipoib", "ipoib_child", "bond")


def _netdev(netdev: Netdev) -> Netdev:
    """What planning reads of it; of others', what validation says of their names."""
    if _is_own(netdev):
        return netdev._replace(carrier=False, dynamic_addresses=(), hwaddr="", driver="")
    return Netdev(netdev.name, netdev.kind, parent=netdev.parent, master=netdev.master, members=netdev.members)


def _files(found: Found) -> dict[str, str]:
    shared = {path: backend for backend in _registry.BACKENDS for path in backend.shared}
    files = {path: text for path, text in found.files.items() if path not in shared and _registry.is_ours(path, text)}
    files.update({path: backend.outline(found.files[path]) for path, backend in shared.items() if path in found.files})
    return files


def _presence(presence: Presence, names: t.Collection[str]) -> Presence:
    return presence._replace(active={name: active for name, active in presence.active.items() if name in names})


def _conflicts(backend: Backend, names: t.Iterable[str], found: Found, *, guids: t.Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Those that there are."""
    conflicts = {name: _guard.conflicts(backend, name, found, guids=guids) for name in names}
    return {name: paths for name, paths in conflicts.items() if paths}
