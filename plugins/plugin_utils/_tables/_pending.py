# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pending changes on all hosts of the play, as one table."""

from __future__ import annotations

import typing as t

from ...module_utils._site._pending import pending_of, render
from .. import _looks
from .._actions import show
from .._facts_of_run import as_set


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], predicted: bool) -> dict[str, t.Any]:
    # All hosts of the play: changes of hosts that failed later are pending as well.
    hosts = [str(host) for host in task_vars["ansible_play_hosts_all"]]
    # This ends the playbooks of the collection. Playbooks that follow in the same run may change the nodes by any means.
    _looks.forget(*hosts)
    pending = {host: pending_of(as_set(task_vars["hostvars"], host).get("rdma_pending") or [], "rdma_pending of " + host) for host in hosts}
    table = render(pending)
    if table:
        show(table)
    return {"pending": {host: [entry.result() for entry in entries] for host, entries in pending.items() if entries}}
