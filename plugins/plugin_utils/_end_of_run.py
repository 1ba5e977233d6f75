# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a host at the end of a run: what it was left out of, what failed, and what its tasks recorded."""

from __future__ import annotations

import typing as t

from ..module_utils._plain import plain
from ..module_utils._site._ends import FAILED, Record, generic
from ..module_utils._site._leaving import WHOLE, deferred_of, leaves_of
from ..module_utils._site._summary import Host
from . import _looks
from ._facts_of_run import as_set


def host_of_run(host: str, task_vars: t.Mapping[str, t.Any], *, variables: t.Iterable[str], failures: t.Iterable[str], alive: t.Container[str]) -> Host:
    """`variables`: names of results with `left_out`. `failures`: descriptions of what failed. `alive`: hosts that neither failed nor were unreachable."""
    own = as_set(task_vars["hostvars"], host)
    leaves: dict[str, list[str]] = {}
    later: dict[str, str] = {}
    for name in variables:
        outcome = plain(dict(own.get(name) or {}))
        leaves.update(leaves_of(outcome))
        later.update(deferred_of(outcome))
    said = _failure(own, failures)
    return Host(host not in alive or WHOLE in leaves or bool(said), leaves, _record(host, said, task_vars), deferred=later)


def findings_of(host: str, task_vars: t.Mapping[str, t.Any], names: t.Iterable[str]) -> list[str] | None:
    """The findings of a host in the first of these variables that it has; None where it has none of them."""
    own = as_set(task_vars["hostvars"], host)
    return next(([str(line) for line in plain(own[name])] for name in names if name in own), None)


def keep_failure(host: str, task_vars: t.Mapping[str, t.Any], failures: t.Iterable[str]) -> None:
    """Keep why the host of a task failed: with strategy free, another host does not know its variables of this moment."""
    record = _record(host, _failure(task_vars, failures), task_vars)
    if record.kind:
        _looks.keep_record(host, kind=record.kind, task=record.task, said=record.said)


def _failure(own: t.Mapping[str, t.Any], failures: t.Iterable[str]) -> str:
    """The failure in words that one of the variables `failures` has."""
    return next((str(plain(own[name])) for name in failures if own.get(name)), "")


def _record(host: str, failure: str, task_vars: t.Mapping[str, t.Any]) -> Record:
    """How the last task ended. The words count where no task of the collection has left a record of its failure."""
    record = _looks.recall_record(host)
    if not failure or record.kind:
        return record
    return record._replace(kind=FAILED, said=generic(failure, [host, str(task_vars["hostvars"][host].get("ansible_host") or "")]))
