# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of files from which interfaces were taken over: what they were before, and what was left of them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import typing as t

from .._foreign import read_table
from .._host._files import read_text, under
from .._host._originals import DIRECTORY, save
from .._host._write import replace_file
from . import _registry
from ._found import Saved

RECORD = DIRECTORY + "/ipoib.json"


def digest(path: str, text: str) -> str:
    """The form in which the record keeps the text of a file; "" for none. Files of ours, and lines that include them, may come and go."""
    bare = "" if _registry.is_ours(path, text) else _registry.bare(path, text)
    return hashlib.sha256(bare.encode("utf-8", "surrogateescape")).hexdigest() if bare else ""


def read(root: str) -> dict[str, Saved]:
    """The record, by path. Entries that an editor has made invalid, and those without a copy, are left out."""
    found = {}
    for path, entry in read_table(read_text(under(root, RECORD))).items():
        saved = _entry(path, entry, root) if isinstance(entry, dict) else None
        if saved is not None:
            found[path] = saved
    return found


def _entry(path: str, entry: t.Mapping[str, t.Any], root: str) -> Saved | None:
    copy, left, names, backend = (entry.get(key) for key in ("copy", "left", "interfaces", "backend"))
    if not isinstance(copy, str) or not copy.startswith(DIRECTORY + "/") or ".." in copy.split("/") or not isinstance(names, list):
        return None
    text = read_text(under(root, copy))
    return Saved(_registry.bare(path, text), str(left), tuple(map(str, names)), copy, str(backend), entry.get("pending") is True) if text else None


def text_of(record: t.Mapping[str, Saved]) -> str:
    """The text of the record; "" for an empty one, which is removed."""
    keys = ("copy", "left", "interfaces", "backend", "pending")
    rows = {path: {key: getattr(saved, key) for key in keys} for path, saved in record.items()}
    return json.dumps(rows, indent=2, sort_keys=True) + "\n" if rows else ""


def write(record: t.Mapping[str, Saved], root: str) -> None:
    path, text = under(root, RECORD), text_of(record)
    if text:
        replace_file(path, text.encode("utf-8"), 0o600)
    elif os.path.exists(path):
        os.unlink(path)


def note(path: str, left: str, interfaces: t.Iterable[str], *, backend: str, root: str) -> str:
    """Before a file changes: keep a copy, and what will be left. The entry is pending until `settled`. Returns the path of the copy.

    Where the file is as an earlier run left it, its first copy stays that of the administrator.
    """
    known = read(root)
    former = known.get(path)
    follows = former is not None and former.left == digest(path, read_text(under(root, path)))
    copy = former.copy if former is not None and follows else save(path, root)
    names = dict.fromkeys([*(former.interfaces if former is not None and follows else ()), *interfaces])
    write({**known, path: Saved("", digest(path, left), tuple(names), copy, backend, True)}, root)
    return copy


def settled(record: t.Mapping[str, Saved], restored: t.Container[str]) -> dict[str, Saved]:
    """The record once the back-ends have configured all interfaces: nothing is pending, and what was restored is out of it."""
    return {path: saved._replace(pending=False) for path, saved in record.items() if path not in restored}


def mode_of(path: str, root: str) -> int:
    """The permissions of a file."""
    return stat.S_IMODE(os.stat(under(root, path)).st_mode)
