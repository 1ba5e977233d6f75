# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stack of an image that brings its own, such as DGX OS: the role leaves it alone, unless `rdma_allow_upgrade` consents to a change. Pure."""

from __future__ import annotations

import typing as t

from .._facts._appliance import Appliance, appliance_of
from .._facts._stack import Stack
from .._foreign import is_true, part
from .._schema._ofed import VARIABLES
from ._vendors import wanted_stack

CONSENT = "rdma_allow_upgrade"


def owner_of(found: Stack, consent: bool) -> Appliance | None:
    """The image whose stack may not be changed."""
    return None if consent else found.appliance


def refusal(stack: str, owner: Appliance, would: str) -> str:
    """Why the stack is left alone. `stack`: it in words. `would`: what the role would do."""
    return (
        "nothing was changed: the RDMA stack of this node, %s, belongs to its image, %s, and the role would %s. Next: declare what the image has, as "
        "rdma.ofed.discover does, or set %s: true for this host" % (stack, owner.words, would, CONSENT)
    )


def _would(wanted: t.Mapping[str, t.Any], found: Stack) -> str:
    """What the role would do to the stack; "" where it only adds packages of the distribution to it, which changes none of the others."""
    if wanted["ofed_state"] == "absent":
        return "remove it"
    declared = wanted_stack(wanted)
    if not declared.fits(found):
        return "replace it with %s" % ("that of the distribution" if declared.source == "inbox" else declared.words)
    return "" if found.complete else "install it again, because its installation was not completed"


def refusals(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None) -> list[str]:
    """What the role ofed would refuse on a node, as far as its `rdma` facts tell. `variables`: those of the host, already validated."""
    stack = part(facts, "stack")
    owner = appliance_of(stack)
    if owner is None or is_true(variables.get(CONSENT)):
        return []
    wanted = {**{name: entry["default"] for name, entry in VARIABLES.items() if "default" in entry}, **variables}
    found = Stack(str(stack.get("kind") or ""), str(stack.get("version") or ""), complete=stack.get("complete", True) is True)
    would = _would(wanted, found)
    return [refusal(found.words, owner, would)] if would else []
