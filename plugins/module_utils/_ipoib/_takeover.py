# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take interfaces out of files that the collection does not manage, with consent. Pure.

A file that configures nothing else is removed; of other files, everything else stays byte for byte. Settings that no variable expresses would be lost: they
are refused. What can't be taken out remains a conflict and is refused, as it would be without consent.
"""

from __future__ import annotations

import collections
import typing as t

from .._errors import Refused, Undecided
from .._host._saved import Saved
from . import _registry
from ._found import Found, Takeover, lent_to
from ._identity import identify
from ._rest import rest_of
from ._saved import LEDGER

if t.TYPE_CHECKING:
    from ._backend import Backend
    from ._wanted import Wanted

_LOST = (
    "ipoib_adopt would lose settings that no variable expresses: %s. Next: remove them from the file if they may go, or remove the interface from "
    "ipoib_interfaces"
)
_DOWN = (
    "taking over %s interrupts traffic: %s takes such an interface down briefly, and open connections are lost. Next: consent with "
    "rdma_allow_interruption: true, for example while the node runs no jobs"
)


def takeover(names: t.Collection[str], found: Found, backend: Backend, *, guids: t.Mapping[str, str]) -> Takeover:
    """Take the interfaces out of the foreign files that the back-end reads. `found`: with complete files. `guids`: the declared port GUIDs, by name."""
    left: dict[str, str] = {}
    losses: dict[str, tuple[str, ...]] = {}
    owners: dict[str, tuple[str, ...]] = {}
    continued: dict[str, str] = {}
    lent: dict[str, tuple[str, ...]] = {}
    declared = {name: guids.get(name, "") for name in names}
    for each in [backend, *(other for other in _registry.BACKENDS if backend.name in other.read_by)]:
        for name in names:
            identity = identify(name, found, guids)
            paths = [*_registry.conflicts(each, name, found, guids=guids), *each.devices(identity, found.files)]
            rests = {path: rest_of(each, identity, path, found=found, left=left) for path in paths}
            out = {path: rest for path, rest in rests.items() if rest is not None}
            if out:
                left.update(out)
                owners.update((path, (*owners.get(path, ()), name)) for path in out)
                unsaid = ("%s in %s" % (setting, path) for path in out for setting in each.unsaid(identity, path, found.files, names=declared))
                # Only these files go: what a service has generated from them repeats what they say.
                said = each.reader.parse(name, tuple(out), {path: found.files[path] for path in out}).left
                losses[name] = (*losses.get(name, ()), *said, *unsaid)
                lent[name] = lent_to(found.netdevs.get(name))
                active = backend.active(found).get(name)
                if active is not None and active.uuid and active.uuid in {each.profile(path, found.files[path], found) for path in out}:
                    continued[name] = active.uuid
    swayed = backend.sways(found.files, after(found, Takeover(left)).files) if left else ()
    shared = {uuid for uuid, count in collections.Counter(continued.values()).items() if count > 1}
    alone = {name: uuid for name, uuid in continued.items() if uuid not in shared}
    return Takeover(left, {name: (*settings, *swayed) for name, settings in losses.items()}, owners, alone, lent)


class Restored(t.NamedTuple):
    """Files of others that are given back."""

    saved: t.Mapping[str, Saved] = {}
    """By path, also those that an interrupted run has written."""
    reasons: tuple[str, ...] = ()
    """Why others are not."""

    @property
    def files(self) -> dict[str, str]:
        return {path: saved.text for path, saved in self.saved.items()}


def restored(found: Found, wanted: Wanted) -> Restored:
    """The files to give back. One that has changed since is left alone. Raises Undecided where the state does not tell."""
    if not wanted.restore or not found.saved:
        return Restored()
    if found.foreign is not None:
        raise Undecided
    back = LEDGER.returning(found.saved, found.files)
    words = "%s has changed since interfaces were taken out of it, so it stays; what it was before is in %s"
    return Restored(back, tuple(words % (path, saved.copy) for path, saved in sorted(found.saved.items()) if path not in back))


def unfinished(found: Found) -> frozenset[str]:
    """The interfaces that an interrupted run has taken over without telling the back-end. Raises Undecided where the state does not tell."""
    names = frozenset(name for saved in found.saved.values() if saved.pending for name in saved.subjects)
    if names and found.foreign is not None:
        raise Undecided
    return names


def after(found: Found, taken: Takeover) -> Found:
    """The state without what is taken over."""
    files = {**found.files, **taken.files}
    return found._replace(files={path: text for path, text in files.items() if text or path not in taken.files}, taken=taken)


def quiet(taken: Takeover, changing: t.Collection[str]) -> frozenset[str]:
    """The interfaces of which nothing changes but who describes them. `changing`: those that differ from the declaration."""
    return frozenset(name for name in taken.continued if name not in changing)


def refuse(taken: Takeover, found: Found, backend: Backend, *, interruption: bool, changing: t.Collection[str]) -> None:
    """Raise Refused where settings would be lost, or where an interface would go down without consent. `changing`: as in `quiet`."""
    lost = sorted({"%s of %s" % (setting, name) for name, settings in taken.losses.items() for setting in settings})
    if lost:
        raise Refused(_LOST % "; ".join(lost), losses=lost)
    up = [name for name in taken.losses if name in found.netdevs and found.netdevs[name].up and name not in quiet(taken, changing)]
    if up and not interruption and backend.interrupts(found):
        raise Refused(_DOWN % (", ".join(up), backend.name), interrupted=up)
