# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The network back-ends, one per line, and the choice of the one that manages a node."""

from __future__ import annotations

import posixpath
import typing as t

from .._errors import Refused, Undecided, Unsupported
from .._host._files import HEADER
from .._host._saved import Saved
from . import _boot, _rename
from ._backend import Backend, Files, Interfaces
from ._backends._ifcfg_backend import IFCFG
from ._backends._ifupdown_backend import IFUPDOWN
from ._backends._netplan_backend import NETPLAN
from ._backends._networkd_backend import NETWORKD
from ._backends._networkmanager_backend import NETWORKMANAGER
from ._backends._wicked_backend import WICKED
from ._found import Found, Place, Presence, Record
from ._identity import identify

# In the order in which former back-ends release interfaces and are told about removed files.
BACKENDS: tuple[Backend, ...] = (
    NETWORKD,
    IFUPDOWN,
    NETPLAN,
    NETWORKMANAGER,
    IFCFG,
    WICKED,
)
# The foreign files that back-ends edit.
SHARED: t.Mapping[str, Backend] = {path: backend for backend in BACKENDS for path in backend.shared}


class NoBackend(Backend):
    """The back-end for removal: that needs none, and must work if the former one is gone."""

    def render(self, interfaces: Interfaces, found: Found) -> dict[str, str]:
        return {}

    def held(self, found: Found) -> None:
        return None


def named(name: str) -> Backend:
    """The back-end of this name; for "", one that does nothing."""
    return next((backend for backend in BACKENDS if backend.name == name), NoBackend())


def choose(name: str, presences: t.Mapping[str, Presence], saved: t.Mapping[str, Saved] | None = None) -> Backend:
    """The back-end to use: `name` or, with `auto`, the one that manages the node. `saved`: one that has taken interfaces over goes on to manage it, although
    the files that told so are gone.

    Raises Refused where several back-ends claim the node, or where the chosen one can't be used.
    """
    former = {each.by for each in (saved or {}).values() if not presences.get(each.by, Presence(missing="unknown")).missing}
    if name == "auto" and len(former) == 1:
        name = former.pop()
    chosen = next(backend for backend in BACKENDS if backend.name == (name if name != "auto" else _strongest(presences)))
    missing = presences[chosen.name].missing
    if missing:
        raise Refused(missing)
    return chosen


def _strongest(presences: t.Mapping[str, Presence]) -> str:
    claims = {name: presence.claim for name, presence in presences.items() if presence.claim is not None}
    if not claims:
        raise Unsupported(
            "no network back-end that this module supports manages this node: none of %s is in use; enable one of them, or name it in ipoib_backend to see "
            "what it lacks" % ", ".join(presences)
        )
    # A renderer of another back-end does not compete with it.
    renderers = {claim.renderer for claim in claims.values()}
    weights = {name: min(claim.weight, 1) if claim.presumed and name in renderers else claim.weight for name, claim in claims.items()}
    strongest = [name for name in claims if weights[name] == max(weights.values())]
    if len(strongest) > 1:
        listed = "; ".join("%s (%s)" % (name, claims[name].because) for name in strongest)
        advice = " or ".join(strongest)
        raise Refused("more than one network back-end manages this node: %s; name the one to use in ipoib_backend: %s" % (listed, advice))
    return strongest[0]


def recorded(files: Files) -> dict[str, Record]:
    """The records of earlier runs with any back-end."""
    found = {name: record for backend in BACKENDS for name, record in backend.format.records(files).items()}
    for name, mtu in _boot.recorded_mtus(files).items():
        found[name] = found.get(name, Record(name))._replace(mtu=mtu)
    return found


def is_ours(path: str, text: str) -> bool:
    if path in (*_boot.PATHS, *_rename.PATHS):
        return HEADER in text
    return any(backend.format.is_ours(path, text) for backend in BACKENDS)


def conflicts(backend: Backend, name: str, found: Found, *, guids: t.Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The foreign files of a back-end that configure an interface. Raises Undecided where the state does not tell."""
    if found.foreign is None:
        return backend.format.conflicts(identify(name, found, guids), found.files)
    if name not in found.examined:
        raise Undecided
    return found.foreign[backend.name].get(name, ())


def aloof(backend: Backend, name: str, found: Found, *, guids: t.Mapping[str, str] | None = None) -> tuple[Place, ...]:
    """Where a back-end is told to leave an interface alone. Raises Undecided where the state does not tell."""
    if found.foreign is None:
        return backend.aloof(identify(name, found, guids), found)
    if name not in found.examined:
        raise Undecided
    return found.aloof[backend.name].get(name, ())


def bare(path: str, text: str) -> str:
    """The text of a foreign file without what back-ends add to it for files of ours."""
    return SHARED[path].edit({path: text}, ()).get(path, text) if path in SHARED else text


def zones_kept(files: t.Mapping[str, str], names: t.Iterable[str], present: t.Mapping[str, str]) -> dict[str, str]:
    """Files of ours for these interfaces, with the zones of the firewall that the present ones have: another role, or the administrator, has put them there."""
    result = dict(files)
    for backend in BACKENDS:
        for path in filter(None, map(backend.zone_file, names)):
            if path in result and backend.format.is_ours(path, present.get(path, "")):
                result[path] = backend.zoned(result[path], backend.zone_in(present[path]))
    return result


def file_mode(path: str) -> int:
    """The permissions of one of our files."""
    if path in (_boot.SCRIPT_PATH, _rename.SCRIPT_PATH):
        return 0o755
    return next((backend.modes[posixpath.dirname(path)] for backend in BACKENDS if posixpath.dirname(path) in backend.modes), 0o644)
