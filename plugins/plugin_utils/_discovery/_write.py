# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the files of a discovery on the controller. No file of others is replaced or removed."""

from __future__ import annotations

import glob
import os
import typing as t

from ...module_utils._errors import RdmaError, Refused
from .._files import write_file
from ._files import HEADER

_PLACES = ("*.yml", "group_vars/*.yml", "host_vars/*.yml", "report.txt")
_NEXT = "Next: name another directory with -e discover_output=FOLDER, or move what is there"


def _is_ours(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.readline().rstrip("\n") == HEADER
    except OSError as exc:
        raise RdmaError("%s can't be read: %s. %s" % (path, exc.strerror, _NEXT)) from exc


def require_place(folder: str, *, overwrite: bool) -> None:
    """Raise Refused where something is in the folder. With `overwrite`, files of an earlier discovery may be there, and files that will not be written."""
    if not os.path.lexists(folder):
        return
    if not os.path.isdir(folder):
        raise Refused("discover_output is %s, which is not a directory. No host was looked at, and nothing was written. %s" % (folder, _NEXT))
    if not overwrite and os.listdir(folder):
        words = "discover_output is %s, which is not empty. No host was looked at, and nothing was written. Next: replace those of an earlier discovery with "
        raise Refused((words + "-e discover_overwrite=true, or name another folder with -e discover_output=FOLDER") % folder)


def write(folder: str, files: t.Mapping[str, str], kept: t.Iterable[str] = ()) -> None:
    """Write all files, and remove those of an earlier discovery that are neither among them nor `kept`. Raises Refused before the first one for a file of
    others.
    """
    stays = {os.path.join(folder, name) for name in kept}
    there = [path for place in _PLACES for path in sorted(glob.glob(os.path.join(glob.escape(folder), place)))]
    wanted = {os.path.join(folder, name): text for name, text in files.items()}
    foreign = [path for path in wanted if os.path.lexists(path) and not _is_ours(path)]
    if foreign:
        raise Refused("%s was not written by rdma.ofed.discover: its first line differs. It is not replaced, and nothing was written. %s" % (foreign[0], _NEXT))
    for path, text in wanted.items():
        write_file(path, text)
    for path in there:
        if path not in wanted and path not in stays and _is_ours(path):
            os.unlink(path)
