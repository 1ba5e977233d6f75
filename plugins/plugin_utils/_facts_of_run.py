# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The facts of a host that this run has gathered.

A fact cache returns facts of earlier runs as if they were of this one. Since then the card, stack or kernel of the node may have changed.
"""

from __future__ import annotations

import functools
import os
import typing as t

from ansible import constants

from ..module_utils._plain import plain

# The key in the facts that identifies the run that gathered them.
RUN = "run"


def mark() -> str:
    """A value unique to the run: the name of its temporary folder, which ansible-core creates, and which its workers share."""
    return os.path.basename(str(constants.DEFAULT_LOCAL_TMP))


def marked(facts: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Mark facts as gathered by this run."""
    return {**facts, RUN: mark()}


def of_this_run(facts: t.Any) -> dict[str, t.Any] | None:
    """The facts as plain values, if this run has gathered them; else None."""
    found = plain(facts or {})
    return found if isinstance(found, dict) and found.get(RUN) == mark() else None


def facts_by_host(hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> t.Callable[[str], dict[str, t.Any] | None]:
    """Returns a function that gives the `rdma` facts of any host, read once; None where this run has gathered none."""
    return functools.lru_cache(maxsize=None)(lambda host: facts_of(as_set(hostvars, host)))


def as_set(hostvars: t.Mapping[str, t.Mapping[str, t.Any]], host: str) -> t.Mapping[str, t.Any]:
    """The variables of a host, not evaluated: for facts and results of tasks, which are no templates.

    A value of `hostvars[host]` is searched for templates to its last text, which takes 20 ms for the facts of one host.
    """
    # Absent in unit tests.
    raw: t.Callable[[str], t.Mapping[str, t.Any]] | None = getattr(hostvars, "raw_get", None)
    return hostvars[host] if raw is None else raw(host)


def facts_of(task_vars: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """The `rdma` facts of the task's host; None where this run has gathered none."""
    facts = task_vars.get("ansible_facts")
    return of_this_run(facts.get("rdma")) if isinstance(facts, t.Mapping) else None
