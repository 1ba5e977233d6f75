# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Data that a run keeps on the controller until it ends: results of the look at its hosts, results common to all hosts, and how its tasks ended.

The data are in files, because the workers of a run share no memory, in the temporary folder that ansible-core creates for a
run and removes with it. So they are neither in the variables of a host, nor in a log, nor in the memory of the main process.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import time
import typing as t

from ansible import constants

from ..module_utils._foreign import read_json
from ..module_utils._site._ends import Record

_LOOKS, _SURVEYS, _RECORDS, _SILENT = "rdma-ofed-looks", "rdma-ofed-surveys", "rdma-ofed-records", "rdma-ofed-silent"
_ARRIVALS, _JUDGED, _DONE = "rdma-ofed-arrivals", "rdma-ofed-judged", "rdma-ofed-done"
# Seconds. On a large site hours can pass between the look at a host and the last role, and others may change the node in between.
_MAX_AGE = 3600


def _path(folder: str, key: str) -> str:
    name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(constants.DEFAULT_LOCAL_TMP, folder, name)


def _write(path: str, data: t.Any) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = "%s.%d" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(data, stream)
    os.replace(temporary, path)


def _read(path: str, max_age: float = math.inf) -> t.Any:
    """The kept data; None where there are none, or where they are older than `max_age` seconds."""
    try:
        with open(path, encoding="utf-8") as stream:
            return read_json(stream.read()) if time.time() - os.fstat(stream.fileno()).st_mtime < max_age else None
    except FileNotFoundError:
        return None


def keep(host: str, looks: t.Mapping[str, t.Any]) -> None:
    """Keep what the look found on a host, by concern, replacing earlier data."""
    _write(_path(_LOOKS, host), looks)


def recall(host: str, concern: str, *, ages: bool = True) -> t.Any:
    """What the look found for a concern, as the module returned it; None where nothing is kept or, if `ages`, the look is too old."""
    looks = _read(_path(_LOOKS, host), *([_MAX_AGE] if ages else []))
    return looks.get(concern) if isinstance(looks, dict) else None


def recall_all(host: str) -> dict[str, t.Any]:
    """All that the look found on a host, by concern, however old."""
    looks = _read(_path(_LOOKS, host))
    return looks if isinstance(looks, dict) else {}


def forget(*hosts: str | None) -> None:
    """Discard the looks: the nodes may have changed."""
    for host in hosts:
        if host:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(_path(_LOOKS, host))


def keep_survey(key: str, concern: str, shared: t.Any) -> None:
    """Keep a result for the other hosts of the task: reading variables of another host takes a template. `key`: identifies the task and its hosts."""
    _write(_path(_SURVEYS, "%s %s" % (key, concern)), shared)


def recall_survey(key: str, concern: str) -> t.Any:
    """The result of a concern that is common to all hosts; None where nothing is kept."""
    return _read(_path(_SURVEYS, "%s %s" % (key, concern)))


def keep_silent(host: str, reason: str) -> None:
    """Keep why nothing is known about a host; "" where something is."""
    if reason:
        _write(_path(_SILENT, host), reason)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_path(_SILENT, host))


def recall_silent(host: str) -> str:
    """Why the look of this run has no result for a host; "" where it has."""
    return str(_read(_path(_SILENT, host)) or "")


def keep_judged(host: str, judged: t.Mapping[str, t.Any]) -> None:
    """Keep what the validation found that a host needs, so that plays can leave out hosts without variables of each."""
    _write(_path(_JUDGED, host), judged)


def recall_judged(host: str) -> dict[str, t.Any] | None:
    """What the validation found that a host needs; None where this run has not validated it."""
    judged = _read(_path(_JUDGED, host))
    return judged if isinstance(judged, dict) else None


def keep_done(hosts: t.Iterable[str]) -> None:
    """Keep which hosts the summary of the run calls done."""
    _write(_path(_DONE, ""), sorted(hosts))


def recall_done() -> frozenset[str]:
    """The hosts that the last summary of this run called done."""
    done = _read(_path(_DONE, ""))
    return frozenset(map(str, done)) if isinstance(done, list) else frozenset()


def keep_record(host: str, *, changed: bool = False, kind: str = "", task: str = "", said: str = "", changes: t.Iterable[t.Any] = ()) -> None:
    """Keep how a task ended, for the summary of the run. `changed` persists over tasks, and `changes` add up; of several failures the last one counts.

    `changes`: in words, as modules return them.
    """
    former = recall_record(host)
    record = Record(changed or former.changed, kind, task, said) if kind else former._replace(changed=True)
    record = record._replace(changes=tuple(dict.fromkeys([*former.changes, *map(str, changes)])))
    if record != former:
        _write(_path(_RECORDS, host), record)


def recall_record(host: str) -> Record:
    found = _read(_path(_RECORDS, host))
    if not isinstance(found, list):
        return Record()
    record = Record(*found)
    return record._replace(changes=tuple(record.changes))


def all_arrived(task: str, host: str, hosts: t.Collection[str]) -> bool:
    """Note that a host has come to a task. Returns whether all `hosts` have by now, to the first host that learns it: with strategy free, no host is known to
    be the last one. `task`: identifies the task in the run.
    """
    place = _path(_ARRIVALS, task)
    _write(os.path.join(place, os.path.basename(_path(_ARRIVALS, host))), None)
    here = set(os.listdir(place))
    if len(here) < len(hosts) or not {os.path.basename(_path(_ARRIVALS, each)) for each in hosts} <= here:
        return False
    try:
        os.mkdir(place + ".told", 0o700)
    except FileExistsError:
        return False
    return True
