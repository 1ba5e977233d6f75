# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a concern: files of others that it has changed with consent, what they were and what was left of them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
import typing as t

from .._foreign import read_table
from ._files import read_text, under
from ._originals import DIRECTORY, save
from ._write import replace_file

_KEYS = ("copy", "left", "subjects", "by", "pending")
_OPTIONAL = ("active",)


class Saved(t.NamedTuple):
    """A file of others as it was before something was taken out of it."""

    text: str
    left: str
    """What was left of it, as `Ledger.digest`; "" where it was removed."""
    subjects: t.Tuple[str, ...]
    """What was taken out of it."""
    copy: str
    """The path of the copy."""
    by: str = ""
    """What has the subjects since then."""
    pending: bool = False
    """Whether the change has no effect yet: the run was interrupted."""
    active: t.Tuple[str, ...] = ()
    """The subjects that had their settings from this file, where several files have some for the same subject; empty where that is unknown."""


Record = t.Mapping[str, Saved]


@dataclasses.dataclass(frozen=True)
class Ledger:
    """Where and how a concern keeps its record."""

    name: str
    bare: t.Callable[[str, str], str]
    """The part of a text that belongs to others, from path and text: what the collection adds may come and go."""

    @property
    def path(self) -> str:
        return "%s/%s.json" % (DIRECTORY, self.name)

    def digest(self, path: str, text: str) -> str:
        """The form in which the record keeps the text of a file; "" for none."""
        own = self.bare(path, text)
        return hashlib.sha256(own.encode("utf-8", "surrogateescape")).hexdigest() if own else ""

    def read(self, root: str) -> dict[str, Saved]:
        """The record, by path. Entries that an editor has made invalid, and those without a copy, are left out."""
        found = {}
        for path, entry in read_table(read_text(under(root, self.path))).items():
            saved = self._entry(path, entry, root) if isinstance(entry, dict) else None
            if saved is not None:
                found[path] = saved
        return found

    def _entry(self, path: str, entry: t.Mapping[str, t.Any], root: str) -> Saved | None:
        copy, left, subjects, by = (entry.get(key) for key in _KEYS[:4])
        active = entry.get("active")
        known = tuple(map(str, active)) if isinstance(active, list) else ()
        if not isinstance(copy, str) or not copy.startswith(DIRECTORY + "/") or ".." in copy.split("/") or not isinstance(subjects, list):
            return None
        text = read_text(under(root, copy))
        return Saved(self.bare(path, text), str(left), tuple(map(str, subjects)), copy, str(by), entry.get("pending") is True, known) if text else None

    def write(self, record: Record, root: str) -> None:
        path, text = under(root, self.path), text_of(record)
        if text:
            replace_file(path, text.encode("utf-8"), 0o600)
        elif os.path.exists(path):
            os.unlink(path)

    def note(self, path: str, left: str, subjects: t.Iterable[str], *, by: str, root: str, active: t.Iterable[str] = ()) -> str:
        """Before a file changes: keep a copy, and what will be left. The entry is pending until `settled`. Returns the path of the copy.

        Where the file is as an earlier run left it, its first copy stays that of the administrator.
        """
        known = self.read(root)
        former = known.get(path)
        follows = former is not None and former.left == self.digest(path, read_text(under(root, path)))
        copy = former.copy if former is not None and follows else save(path, root)
        names = dict.fromkeys([*(former.subjects if former is not None and follows else ()), *subjects])
        effective = dict.fromkeys([*(former.active if former is not None and follows else ()), *active])
        self.write({**known, path: Saved("", self.digest(path, left), tuple(names), copy, by, True, tuple(effective))}, root)
        return copy

    def returning(self, record: Record, present: t.Mapping[str, str]) -> dict[str, Saved]:
        """The files that are still as they were left, or that an interrupted run has restored already. `present`: their texts."""
        return {path: saved for path, saved in record.items() if present.get(path, "") == saved.text or self.digest(path, present.get(path, "")) == saved.left}


def text_of(record: Record) -> str:
    """The text of the record; "" for an empty one, which is removed."""
    rows = {path: {key: getattr(saved, key) for key in (*_KEYS, *_OPTIONAL) if key in _KEYS or getattr(saved, key)} for path, saved in record.items()}
    return json.dumps(rows, indent=2, sort_keys=True) + "\n" if rows else ""


def settled(record: Record, restored: t.Container[str]) -> dict[str, Saved]:
    """The record once all changes have their effect: nothing is pending, and what was restored is out of it."""
    return {path: saved._replace(pending=False) for path, saved in record.items() if path not in restored}


class Access(t.NamedTuple):
    """Who may do what with a file."""

    mode: int
    owner: t.Optional[t.Tuple[int, int]] = None
    """The IDs of user and group; None for those of this process."""


def access_of(path: str, root: str) -> Access:
    """The owner and the permissions of a file. systemd-networkd is not root: a file may be readable for its group only."""
    status = os.stat(under(root, path))
    return Access(stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid))
