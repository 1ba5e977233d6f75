# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Which back-end manages a node. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _registry

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Backend
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Claim, Presence


def choose(name: str, presences: t.Mapping[str, Presence]) -> Backend:
    """The back-end to use: `name`, or with `auto` the one that manages the node.

    Raises Refused where several claim the node, or where the chosen one can't be used.
    """
    chosen = next(backend for backend in _registry.BACKENDS if backend.name == (name if name != "auto" else _strongest(presences)))
    missing = presences[chosen.name].missing
    if missing:
        raise Refused(missing)
    return chosen


def _strongest(presences: t.Mapping[str, Presence]) -> str:
    claims = {name: presence.claim for name, presence in presences.items() if presence.claim is not None}
    if not claims:
        raise Unsupported(
            "no network back-end that this module knows manages this node: none of %s is in use; enable one of them, or name it in ipoib_backend "
            "to learn what it lacks" % ", ".join(presences)
        )
    renderers = {claim.renderer for claim in claims.values()}

    def weight(name: str, claim: Claim) -> int:
        # What another back-end hands its files to does not compete with it.
        return min(claim.weight, 1) if claim.presumed and name in renderers else claim.weight

    weights = {name: weight(name, claim) for name, claim in claims.items()}
    strongest = [name for name in claims if weights[name] == max(weights.values())]
    if len(strongest) > 1:
        listed = "; ".join("%s (%s)" % (name, claims[name].because) for name in strongest)
        advice = " or ".join(strongest)
        raise Refused("more than one network back-end manages this node: %s; name the one to use in ipoib_backend: %s" % (listed, advice))
    return strongest[0]
