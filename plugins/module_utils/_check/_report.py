# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The findings of all hosts as JUnit cases and as data. Pure."""

from __future__ import annotations

import typing as t

from .._junit import Case

if t.TYPE_CHECKING:
    from ._fleet import Deviation, Fleet, Results


def cases_of(fleet: Fleet) -> list[Case]:
    """One case for each fault of a fabric, one for each finding of a host, and one for each host without findings."""
    cases = [Case("verify", "fabric %s: %s" % (fault.fabric, fault.deviation["object"]), fault.deviation) for fault in fleet.faults]
    waiting = fleet.waiting
    for host in fleet.hosts:
        own = [each for kind in (fleet.errors, fleet.warnings, fleet.accepted) for each in kind.get(host, ())]
        cases += [_case(host, each) for each in own] or [Case("verify", host, waits=host in waiting)]
        cases += [_case(host, each) for each in fleet.notices.get(host, ())]
    return cases


def _case(host: str, deviation: Deviation) -> Case:
    # A finding about the host itself has no object.
    return Case("verify", ": ".join(filter(None, (host, deviation["object"]))), deviation)


def as_data(results: Results, fleet: Fleet, differences: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """All data that the table is made of, for tools."""
    return {
        "deviating": list(fleet.failing()),
        "waiting": [host for host in fleet.hosts if host in fleet.waiting],
        "faults": [{**fault.deviation, "fabric": fault.fabric, "hosts": list(fault.hosts)} for fault in fleet.faults],
        "hosts": {
            host: {
                "errors": fleet.errors.get(host, []),
                "warnings": fleet.warnings.get(host, []),
                "accepted": fleet.accepted.get(host, []),
                "notices": fleet.notices.get(host, []),
                "rows": results[host].get("rows") or [],
            }
            for host in fleet.hosts
        },
        "differences": list(differences),
    }
