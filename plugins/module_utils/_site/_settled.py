# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The roles that certainly have nothing to do on a host, so that a run of many hosts spends no task on them. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Concern, Subject
from .._concerns._registry import CONCERNS

ORDER = tuple(name for name, concern in CONCERNS.items() if concern.settled or concern.unchanged or concern.idle)
"""The roles that can tell, in the order of playbook site."""
_TOLD = ("changes", "pending", "reasons", "warnings")


def _is_settled(concern: Concern, subject: Subject) -> bool:
    """Whether the role changes nothing, and has nothing to report. False where that is uncertain."""
    if concern.settled is not None:
        return concern.settled(subject)
    options = subject.options()
    result = None
    if options is not None and concern.unchanged is not None and subject.found is not None:
        result = concern.unchanged(options, subject.found)
    elif options is not None and concern.idle is not None and subject.facts is not None:
        result = concern.idle(options, subject.facts)
    return result is not None and not any(result.get(key) for key in _TOLD)


def settled(concerns: t.Mapping[str, Concern], abouts: t.Mapping[str, Subject], left_out: t.Container[str] = ()) -> list[str]:
    """The roles that need no task, up to the first that does: what that one changes may concern all after it. `abouts`: the host, by concern. `left_out`: the
    roles that the host is left out of, which change nothing.
    """
    found: list[str] = []
    for role in ORDER:
        if role not in left_out and not _is_settled(concerns[role], abouts[role]):
            break
        found.append(role)
    return found
