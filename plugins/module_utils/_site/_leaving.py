# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run leaves out on a host with a problem: the role concerned, and the roles that depend on its changes. Pure."""

from __future__ import annotations

import typing as t

from .._concerns import _registry

WHOLE = "all"
"""Stands for the whole host: nothing can be done there."""

ROLES = (WHOLE, *_registry.ROLES)


def _needing(role: str) -> tuple[str, ...]:
    """The roles that depend on the changes of a role. The check is never left out because of another role: it reports what is missing."""
    return tuple(name for name in _registry.ROLES if role == WHOLE or role in _registry.CONCERNS[name].needs)


# By role, in the order of the run.
_NEEDED_BY: t.Mapping[str, tuple[str, ...]] = {role: _needing(role) for role in ROLES}

LeftOut = t.Dict[str, t.List[str]]


def left_out(found: t.Mapping[str, t.Iterable[str]]) -> LeftOut:
    """The roles to leave out, with the reasons, from the problems by role. A role that depends on another one inherits its reasons."""
    result: dict[str, dict[str, None]] = {}
    for role in ROLES:
        for reason in found.get(role, ()):
            for each in (role, *_NEEDED_BY[role]):
                result.setdefault(each, {})[reason] = None
    return {role: list(result[role]) for role in ROLES if role in result}


def merged(leaves: t.Mapping[str, t.Iterable[str]], role: str, reasons: t.Iterable[str]) -> LeftOut:
    """Add the problems of one role to what a host is left out of."""
    more = left_out({role: reasons})
    return {name: list(dict.fromkeys([*leaves.get(name, ()), *more.get(name, ())])) for name in ROLES if name in leaves or name in more}


def leaves_of(outcome: t.Mapping[str, t.Any], role: str = "") -> LeftOut:
    """The roles that a host is left out of, from the result of a task: that of `validate_site`, or what else `role` would refuse. Nothing is known about a
    host whose task failed.
    """
    if outcome.get("failed") or outcome.get("unreachable"):
        # ansible-core 2.19 appends the position in the playbook and an excerpt.
        lines = str(outcome.get("msg") or "").split("\n")
        return left_out({WHOLE: [next((line.strip() for line in lines if line.strip()), "failed")]})
    if role:
        return left_out({role: [str(refusal) for refusal in outcome.get("refusals") or ()]})
    return {str(name): [str(reason) for reason in reasons] for name, reasons in (outcome.get("left_out") or {}).items()}


def causes(leaves: t.Mapping[str, t.Iterable[str]]) -> list[tuple[str, str]]:
    """The reasons of one host, each once, with the role that has the problem."""
    first: dict[str, str] = {}
    for role in ROLES:
        for reason in leaves.get(role) or ():
            first.setdefault(str(reason), role)
    return [(role, reason) for reason, role in first.items()]


def words(role: str, reason: str) -> str:
    """A cause in words."""
    return reason if role == WHOLE else "left out of %s: %s" % (role, reason)


def takes_part(role: str, tags: t.Collection[str], skipped: t.Collection[str]) -> bool:
    """Whether a run with these tags includes the role. With the user's own tags, it may."""
    return role not in skipped and (role in tags or not tags or not set(tags) <= {*_registry.ROLES, "always"})
