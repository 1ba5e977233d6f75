# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The facts of a host as this run has gathered them.

A fact cache hands out those of earlier runs as if they were of this one. Since then the node may have got another card, stack or kernel.
"""

from __future__ import annotations

import functools
import os
import typing as t

from ansible import constants

from ..module_utils._plain import plain

# Among the facts: the run that gathered them.
RUN = "run"


def mark() -> str:
    """What no other run has: the name of the temporary folder that ansible-core makes for each. Its workers share it."""
    return os.path.basename(str(constants.DEFAULT_LOCAL_TMP))


def marked(facts: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Facts that were gathered now."""
    return {**facts, RUN: mark()}


def of_this_run(facts: t.Any) -> dict[str, t.Any] | None:
    """The facts, as plain values, where this run has gathered them."""
    found = plain(facts or {})
    return found if isinstance(found, dict) and found.get(RUN) == mark() else None


def facts_by_host(hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> t.Callable[[str], dict[str, t.Any] | None]:
    """The `rdma` facts of any host, read once; None where this run has gathered none."""
    return functools.lru_cache(maxsize=None)(lambda host: facts_of(hostvars[host]))


def facts_of(task_vars: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """The `rdma` facts of the host of a task; None where this run has gathered none."""
    facts = task_vars.get("ansible_facts")
    return of_this_run(facts.get("rdma")) if isinstance(facts, t.Mapping) else None
