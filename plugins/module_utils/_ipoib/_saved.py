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
    """The form in which the record keeps the text of a file; "" for a missing file. Lines that include files of ours may come and go."""
    return hashlib.sha256(_registry.bare(path, text).encode("utf-8", "surrogateescape")).hexdigest() if text else ""


def read(root: str) -> dict[str, Saved]:
    """The record, by path. Entries that an editor has made invalid, and those without a copy, are left out."""
    found = {}
    for path, entry in read_table(read_text(under(root, RECORD))).items():
        rows = [entry.get(key) for key in ("copy", "left", "interfaces")] if isinstance(entry, dict) else []
        if len(rows) == 3 and isinstance(rows[0], str) and rows[0].startswith(DIRECTORY + "/") and ".." not in rows[0] and isinstance(rows[2], list):
            text = read_text(under(root, rows[0]))
            if text:
                found[path] = Saved(text, str(rows[1]), tuple(map(str, rows[2])), rows[0])
    return found


def note(path: str, left: str, interfaces: t.Iterable[str], *, root: str) -> str:
    """Before a file changes: keep a copy, and what will be left. Returns the path of the copy.

    Where the file is as an earlier run left it, its first copy stays that of the administrator.
    """
    known = read(root)
    text = read_text(under(root, path))
    former = known.get(path)
    follows = former is not None and former.left == digest(path, text)
    copy = former.copy if former is not None and follows else save(path, root)
    names = dict.fromkeys([*(former.interfaces if former is not None and follows else ()), *interfaces])
    entries = {name: {"copy": each.copy, "left": each.left, "interfaces": list(each.interfaces)} for name, each in known.items()}
    entries[path] = {"copy": copy, "left": digest(path, left), "interfaces": list(names)}
    replace_file(under(root, RECORD), (json.dumps(entries, indent=2, sort_keys=True) + "\n").encode("utf-8"), 0o600)
    return copy


def mode_of(copy: str, root: str) -> int:
    """The permissions of a copy, which are those of the file before."""
    return stat.S_IMODE(os.stat(under(root, copy)).st_mode)
