# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Who runs the subnet managers of a site, read once for a task and not once for each of its hosts.

To read variables of another host takes a template. The workers of a run share no memory: what the first of them has read is in a file
below the temporary folder of the run.
"""

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import read_json
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import Election
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks

_FOLDER = "rdma-ofed-elected"


def keep(key: str, election: Election) -> None:
    """Keep it for the other hosts of the task. `key` is of the task and of the hosts that it runs for."""
    _looks.write(_looks.path_of(_FOLDER, key), election)


def recall(key: str) -> Election | None:
    """What was kept; None where nothing is."""
    try:
        with open(_looks.path_of(_FOLDER, key), encoding="utf-8") as stream:
            found = read_json(stream.read())
    except FileNotFoundError:
        return None
    return None if found is None else Election(*found)
