# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a run as data for other programs. Pure. The shape is documented in docs/playbooks.md."""

from __future__ import annotations

import typing as t

from ._ends import FAILED, UNREACHABLE
from ._leaving import WHOLE

if t.TYPE_CHECKING:
    from ._summary import Host

FORMAT = 1
"""Raised where a program that reads the earlier shape would go wrong. Further keys may come without that."""
DONE, PARTLY, LEFT_OUT, UNTOUCHED = "done", "partly", "left_out", "untouched"
STATES = (DONE, PARTLY, LEFT_OUT, FAILED, UNREACHABLE, UNTOUCHED)


def state_of(host: Host) -> str:
    """One of STATES. `partly`: left out of some roles, or with findings. `left_out`: of all roles."""
    if host.untouched and not host.dropped:
        return UNTOUCHED
    if host.dropped:
        return host.record.kind or (LEFT_OUT if WHOLE in host.leaves else FAILED)
    return DONE if host.is_done else PARTLY


def as_data(hosts: t.Mapping[str, Host], *, pending: t.Mapping[str, t.Sequence[t.Mapping[str, t.Any]]], about: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The whole run. `pending`: by host, as modules return it. `about`: what identifies the run."""
    states = {name: state_of(host) for name, host in hosts.items()}
    counts = {state: sum(each == state for each in states.values()) for state in STATES}
    return {
        "format": FORMAT,
        **about,
        "totals": {"hosts": len(hosts), "changed": sum(host.record.changed for host in hosts.values()), **counts},
        "hosts": {name: _host(host, state=states[name], pending=pending.get(name, ())) for name, host in hosts.items()},
    }


def _host(host: Host, *, state: str, pending: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    record = host.record
    return {
        "state": state,
        "changed": record.changed,
        "changes": list(record.changes),
        "pending": list(pending),
        "left_out": {role: list(reasons) for role, reasons in host.leaves.items()},
        "deferred": dict(host.deferred),
        "findings": list(host.deviations),
        "failure": {"task": record.task, "message": record.said} if state in (FAILED, UNREACHABLE) else None,
    }
