# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Findings about counters in words, for people. Pure. Nothing reads these texts back."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._finding import Code, Measure

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._check._finding import Finding
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._spots import Spot


class _Form(t.NamedTuple):
    cause: str
    next_step: str


_CABLE = "reseat the cable at both ends and clean its connectors; if the errors go on, replace the cable, then try other ports"
FORMS: t.Mapping[Code, _Form] = {
    Code.SYMBOL_ERRORS: _Form("a cable or transceiver that is damaged, dirty or not seated well", _CABLE),
    Code.LINK_RECOVERS: _Form("a link that is so bad that it has to be trained again while it is up", _CABLE),
    Code.LINK_DOWNED: _Form(
        "a loose cable, or a host or switch at the other end that was restarted", "look whether the other end was restarted; else " + _CABLE
    ),
    Code.RECEIVE_ERRORS: _Form("packets that arrive damaged, by the cable or the port at the other end", _CABLE),
    Code.REMOTE_ERRORS: _Form("packets that were damaged on another link", "look for symbol errors and receive errors on other ports, and mend that link"),
    Code.RELAY_ERRORS: _Form("packets that the switch has no way for, such as multicast that comes back", "none is needed, unless traffic is lost"),
    Code.DISCARDS: _Form(
        "congestion, or a receiver that does not take its packets", "look at the host or switch at the other end, and for PortXmitWait on the way to it"
    ),
    Code.CONSTRAINT_ERRORS: _Form("packets that may not pass, most often because of their P_Key", "compare the partitions of both ends with the declared ones"),
    Code.LINK_INTEGRITY: _Form("a link with more errors in a row than it tolerates", _CABLE),
    Code.BUFFER_OVERRUNS: _Form("a sender that breaks flow control, most often for its firmware", "update the firmware of both ends, then replace the sender"),
    Code.MANAGEMENT_DROPS: _Form(
        "more management packets than the port takes", "look for several subnet managers, and for tools that query the fabric all the time"
    ),
    Code.CONGESTION: _Form(
        "a receiver that is slower than its sender, or links with too much traffic", "follow PortXmitWait towards the port that does not have it"
    ),
    Code.BIT_ERRORS: _Form("a connector that is dirty or loose, or a cable that is damaged or too long", _CABLE),
    Code.SATURATED: _Form("a counter that was not cleared for long", "clear the counters with clear=errors, so that they show what happens from now on"),
}


def place_in_words(spot: Spot) -> str:
    return "%s port %d" % (spot.name, spot.port)


def _number(value: float) -> str:
    return "%d" % value if value % 1 == 0 else "%.6g" % value


def words(finding: Finding, spot: Spot, hours: float | None) -> dict[str, str]:
    """Cause, next step and the whole in one sentence."""
    form = FORMS[finding.code]
    where = place_in_words(spot) + (" (to %s port %d)" % (spot.peer_name, spot.peer_port) if spot.peer_port else "")
    found, limit = map(_number, finding.measure or Measure(0, 0))
    if finding.code == Code.SATURATED:
        what = "stands at its maximum of %s, so it is not known how much it would have grown" % found
    elif hours is None or finding.code == Code.BIT_ERRORS:
        what = "is %s, allowed: %s" % (found, limit)
    elif finding.code == Code.CONGESTION:
        what = "grows by %s per hour, allowed: %s" % (found, limit)
    else:
        what = "grew by %s in %.3g h, allowed: %s" % (found, hours, limit)
    return {"cause": form.cause, "next_step": form.next_step, "message": "%s: %s %s" % (where, finding.aspect, what)}
