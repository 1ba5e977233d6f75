# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a host at the end of a run: what it was left out of, what failed, and what its tasks recorded."""

from __future__ import annotations

import typing as t

from ..module_utils._plain import plain
from ..module_utils._site._ends import FAILED, generic
from ..module_utils._site._leaving import WHOLE, leaves_of
from ..module_utils._site._summary import Host
from . import _looks
from ._facts_of_run import as_set


def host_of_run(host: str, task_vars: t.Mapping[str, t.Any], *, variables: t.Iterable[str], failures: t.Iterable[str], alive: t.Container[str]) -> Host:
    """`variables`: names of results with `left_out`. `failures`: descriptions of what failed. `alive`: hosts that neither failed nor were unreachable."""
    own = as_set(task_vars["hostvars"], host)
    leaves: dict[str, list[str]] = {}
    for name in variables:
        leaves.update(leaves_of(plain(dict(own.get(name) or {}))))
    failure = next((str(plain(own[name])) for name in failures if own.get(name)), "")
    record = _looks.recall_record(host)
    if failure and not record.kind:
        record = record._replace(kind=FAILED, said=generic(failure, [host, str(task_vars["hostvars"][host].get("ansible_host") or "")]))
    return Host(host not in alive or WHOLE in leaves or bool(failure), leaves, record)
