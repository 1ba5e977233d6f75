# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What one look found on the hosts of a run, kept on the controller until the run ends.

It is in files, because the workers of a run share no memory, and below the temporary folder that ansible-core makes for a
run and removes with it. So nothing of it is in the variables of a host, in a log, or in the memory of the main process.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import typing as t

from ansible import constants
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import read_table

_FOLDER = "rdma-ofed-looks"
# Seconds. On a large site hours can pass between the look at a host and the last role; others may have changed the node by then.
_MAX_AGE = 3600


def path_of(folder: str, key: str) -> str:
    """Below the temporary folder of the run."""
    return os.path.join(constants.DEFAULT_LOCAL_TMP, folder, hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest())


def write(path: str, data: t.Any) -> None:
    """At once, for other workers of the run."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = "%s.%d" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(data, stream)
    os.replace(temporary, path)


def keep(host: str, looks: t.Mapping[str, t.Any]) -> None:
    """Keep what the look found on a host, by concern, in place of what was kept before."""
    write(path_of(_FOLDER, host), looks)


def recall(host: str, concern: str, *, ages: bool = True) -> t.Any:
    """What the look found of a concern, as the module returned it; None where nothing is kept, or, where that `ages`, only an old look."""
    try:
        with open(path_of(_FOLDER, host), encoding="utf-8") as stream:
            fresh = not ages or time.time() - os.fstat(stream.fileno()).st_mtime < _MAX_AGE
            return read_table(stream.read()).get(concern) if fresh else None
    except FileNotFoundError:
        return None


def forget(*hosts: str | None) -> None:
    """The nodes are no longer as the look found them."""
    for host in hosts:
        if host:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path_of(_FOLDER, host))
