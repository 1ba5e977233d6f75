# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What must not be touched: files, bonds and connections of others. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _registry
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Backend, Interfaces
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import identify

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Naming


class Undecided(Exception):
    """A condensed state does not tell."""


def conflicts(backend: Backend, name: str, found: Found, *, guids: t.Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The foreign files of a back-end that configure an interface. Raises Undecided where the state does not tell."""
    if found.foreign is None:
        return backend.format.conflicts(identify(name, found, guids), found.files)
    if name not in found.examined:
        raise Undecided
    return found.foreign[backend.name].get(name, ())


def foreign(found: Found, interfaces: Interfaces, backend: Backend, *, paths: t.Iterable[str], namings: t.Sequence[Naming] = ()) -> list[str]:
    """Files of others that configure a wanted interface, or lie where ours shall be."""
    guids = {naming.name: naming.guid for naming in namings}
    conflicting = []
    # The back-ends whose foreign files matter beside those of `backend`.
    rivals = {each for each in _registry.BACKENDS if each.presence(found).in_use and each.name not in backend.renders_through}
    for rival in sorted({backend, *rivals}, key=lambda each: each.name):
        conflicting += [
            "%s configures %s" % (path, interface.name) for interface in interfaces for path in conflicts(rival, interface.name, found, guids=guids)
        ]
    shared = {path for each in _registry.BACKENDS for path in each.shared}
    for path in sorted(paths):
        text = found.files.get(path, "")
        if text and path not in shared and not _registry.is_ours(path, text):
            conflicting.append("%s exists and is not of this collection" % path)
    return list(dict.fromkeys(conflicting))


def masters(found: Found, interfaces: Interfaces, records: t.Collection[str]) -> list[str]:
    """Wanted interfaces that are in a bond, bridge or team which is not of this collection."""
    names = [interface.name for interface in interfaces]
    owners = {name: found.netdevs[name].master for name in names if name in found.netdevs}
    return ["%s is a port of %s, which is not declared" % (name, owner) for name, owner in owners.items() if owner not in ("", *names, *records)]
