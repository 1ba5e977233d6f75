# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the files of each back-end say about the interfaces of a node, for a discovery. Pure."""

from __future__ import annotations

import re
import typing as t

from . import _registry
from ._backend import Backend
from ._found import Found, lent_to
from ._identity import coming, identify
from ._parsed import Parsed
from ._rest import rest_of

# The back-ends that write files of others, too.
_THROUGH = frozenset(backend.name for backend in _registry.BACKENDS if backend.renders_through)


class Said(t.NamedTuple):
    """What one back-end says about one interface."""

    backend: str
    paths: tuple[str, ...]
    ours: bool
    parsed: Parsed
    stuck: tuple[str, ...] = ()
    """The files that the interface can't be taken out of."""
    idle: tuple[str, ...] = ()
    """The profiles that are not active, while another one of `paths` is: what they say is not in `parsed`."""


class Described(t.NamedTuple):
    """What the look reports for a discovery."""

    found: Found = Found()
    """In the form in which it may leave the node."""
    static: t.Mapping[str, tuple[str, ...]] = {}
    """The addresses of each interface that others have not assigned to it for a time."""
    said: t.Mapping[str, tuple[Said, ...]] = {}
    """What files say, by interface."""
    lent: t.Mapping[str, tuple[str, ...]] = {}
    """The addresses of each interface that others have assigned to it for a time, besides that of the link."""


def _own_paths(backend: Backend, name: str, found: Found) -> tuple[str, ...]:
    """The files of this collection for the interface."""
    ours = {path: text for path, text in found.files.items() if backend.format.is_ours(path, text)}
    return tuple(path for path, text in ours.items() if name in backend.format.records({path: text}) or _is_named(path, name))


def _is_named(path: str, name: str) -> bool:
    base = path.rpartition("/")[2]
    return any(base == form % name for form in ("route-%s", "route6-%s", "ifroute-%s"))


def said_of(name: str, found: Found) -> tuple[Said, ...]:
    """What all back-ends say about an interface. `found`: with complete files."""
    answers = []
    for backend in _registry.BACKENDS:
        own = _own_paths(backend, name, found)
        paths = own or _registry.conflicts(backend, name, found)
        # What another back-end has generated repeats what that says.
        paths = tuple(path for path in paths if not path.startswith("/run/"))
        if paths:
            stuck = () if own else tuple(path for path in paths if rest_of(backend, identify(name, found), path, found=found, left={}) is None)
            idle = _idle(backend, name, paths, found=found)
            read = (*(path for path in paths if path not in idle), *(() if own else _generated(backend, name, found)))
            parsed = backend.reader.parse(name, read, found.files)
            answers.append(Said(backend.name, paths, bool(own), parsed, stuck, idle))
    # A back-end that renders through another one also names the files of that.
    return tuple(
        each for each in answers if not any(other is not each and set(each.paths) <= set(other.paths) and each.backend in _THROUGH for other in answers)
    )


def _generated(backend: Backend, name: str, found: Found) -> tuple[str, ...]:
    """The files for an interface that were generated from those of a back-end: they may be named after an ID of the administrator, not after the interface."""
    through = map(_registry.named, backend.renders_through)
    return tuple(path for other in through for path in _registry.conflicts(other, name, found) if path.startswith("/run/"))


def _idle(backend: Backend, name: str, paths: t.Sequence[str], *, found: Found) -> tuple[str, ...]:
    """The profiles for an interface that are not active, while another one of these is."""
    active = backend.active(found).get(name)
    uuids = {path: backend.profile(path, found.files[path], found) for path in paths} if active is not None and active.uuid else {}
    return tuple(path for path, uuid in uuids.items() if uuid and active is not None and active.uuid in uuids.values() and uuid != active.uuid)


def _missing(found: Found) -> set[str]:
    """Interfaces that files may configure and that do not exist: children of those that do, and the next ones of the driver."""
    parents = sorted(re.escape(name) for name, netdev in found.netdevs.items() if netdev.kind == "ipoib")
    child = re.compile(r"(?<![\w.-])(?:%s)\.[0-9a-fA-F]{4}(?![\w-])" % "|".join(parents)) if parents else None
    children = {name for text in found.files.values() for name in child.findall(text)} if child else set()
    return {*children, *coming(found.facts), *_registry.recorded(found.files)} - set(found.netdevs)


def described(whole: Found, condensed: Found) -> Described:
    """What is known about the interfaces of ib_ipoib, and bonds. `whole`: with complete files."""
    netdevs = {name: netdev for name, netdev in whole.netdevs.items() if netdev.kind in ("ipoib", "ipoib_child", "bond")}
    static = {name: tuple(address for address in netdev.addresses if address not in netdev.dynamic_addresses) for name, netdev in netdevs.items()}
    said = {name: said_of(name, whole) for name in (*netdevs, *sorted(_missing(whole)))}
    lent = {name: addresses for name, addresses in ((name, lent_to(netdev)) for name, netdev in netdevs.items()) if addresses}
    return Described(condensed, static, {name: answers for name, answers in said.items() if answers}, lent)
