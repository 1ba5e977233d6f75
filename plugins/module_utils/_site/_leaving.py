# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run leaves out on a host with a problem: the role concerned, and the roles that depend on its changes. Pure."""

from __future__ import annotations

import typing as t

from .._concern import DRIVER, FABRIC, GPU, STATE, VENDOR
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

# By what the tree of an image lacks for a role: what that means, and the next step.
_LACKS: t.Mapping[str, str] = {
    STATE: "what is in effect shows only on a running system: run rdma.ofed.verify on the nodes that boot the image",
    FABRIC: "a subnet manager needs the ports of its host: run rdma.ofed.site on the host once it has booted",
    GPU: "the driver of the GPU decides how it is set up: run rdma.ofed.site on the nodes that boot the image",
    DRIVER: "the vendor's stack in the image stays as it is: run rdma.ofed.verify on the nodes that boot the image",
}


_UNPREPARED = "the installer of a vendor's stack works on the kernel that runs: install the vendor's packages into the image first, see docs/images.md"


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
    later = deferred_of(outcome)
    return {str(name): [str(reason) for reason in reasons] for name, reasons in (outcome.get("left_out") or {}).items() if name not in later}


def unprepared(found: t.Mapping[str, str]) -> dict[str, list[str]]:
    """What has to be in an image before the run, by the role that needs it. `found`: what the image lacks, by role."""
    return {role: [_UNPREPARED] for role, lack in found.items() if lack == VENDOR}


def deferred(found: t.Mapping[str, str]) -> dict[str, str]:
    """The roles that do nothing in the tree of an image, with what it lacks for them, or for a role that they depend on. `found`: the roles of themselves."""
    found = {role: lack for role, lack in found.items() if lack != VENDOR}
    # With a stack in place, the roles that need one do their part.
    alone = {role: lack for role, lack in found.items() if lack == DRIVER}
    return {**alone, **{role: reasons[0] for role, reasons in left_out({role: [lack] for role, lack in found.items() if lack and role not in alone}).items()}}


def deferred_of(outcome: t.Mapping[str, t.Any]) -> dict[str, str]:
    """The same from the result of `validate_site`."""
    return {str(role): str(lack) for role, lack in (outcome.get("deferred") or {}).items()}


def deferred_words(lacks: t.Mapping[str, str]) -> list[str]:
    """What is left for the booted node, in words, one line for each thing that is lacking."""
    roles = {lack: [role for role in ROLES if lacks.get(role) == lack] for lack in _LACKS}
    return ["%s: %s" % (", ".join(own), _LACKS[lack]) for lack, own in roles.items() if own]


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
