# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what one of our opensm processes says about its files, and the P_Key tables that it has set. Read-only."""

from __future__ import annotations

import os
import time
import typing as t

from ..._foreign import decimal
from ..._host._files import read_text, under
from ..._host._write import open_regular
from ..._tools._opensm_log import WINDOW, parse_log
from .._conf import parse_conf
from .._places import file_path, unit_name
from ._expect import Told, engines_of
from ._tables import Tables

if t.TYPE_CHECKING:
    from ..._facts._ports import Port
    from ..._host._run import Runner

_PROPERTIES = ("NRestarts", "ExecMainStartTimestampMonotonic")


class Mark(t.NamedTuple):
    """A position in a log. Everything after it is new."""

    inode: int = 0
    size: int = 0


START = Mark()


def mark(path: str) -> Mark:
    """The present end of a log."""
    try:
        found = os.stat(path)
    except OSError:
        return Mark()
    return Mark(found.st_ino, found.st_size)


def read_log(path: str, since: Mark = START) -> str:
    """The end of a log, as far as it is after the mark; "" for a path that is no regular file. A log rotated since the mark is read from its start."""
    try:
        # The site may have put the log into a directory that others can write to.
        with open_regular(path) as stream:
            found = os.fstat(stream.fileno())
            begin = since.size if found.st_ino == since.inode and found.st_size >= since.size else 0
            stream.seek(max(begin, found.st_size - WINDOW))
            return stream.read(WINDOW).decode("utf-8", errors="replace")
    except OSError:
        return ""


def _process(run: Runner, fabric: str) -> tuple[int, float]:
    """How often systemd has restarted the unit, and the seconds since the last start."""
    shown = run(["systemctl", "show", "--no-pager", "-p", ",".join(_PROPERTIES), "--", unit_name(fabric)], ok=None, timeout=20).stdout
    fields = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    started = decimal(fields.get(_PROPERTIES[1], ""), 0)
    return decimal(fields.get(_PROPERTIES[0], ""), 0), time.monotonic() - started / 1e6 if started else -1.0


def listen(run: Runner, fabric: str, port: Port | None, *, since: Mark = START, root: str = "/") -> Told:
    """What the opensm of a fabric says, and the P_Key tables of its port and some others. Empty where this host has no files for that fabric.

    `port`: the port that it is bound to; None where that port does not exist.
    """
    keys = parse_conf(read_text(under(root, file_path(fabric))))
    if not keys:
        return Told(fabric)
    restarts, seconds = _process(run, fabric) if run.has("systemctl") else (0, -1.0)
    told = Told(fabric, engines_of(keys), parse_log(read_log(under(root, keys.get("log_file", "")), since)), restarts, seconds)
    if port is None or not told.is_master:
        return told
    return told._replace(differences=Tables(run, fabric, port, root=root).differences())
