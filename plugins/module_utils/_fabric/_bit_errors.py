# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Bit error rates of ports, which only their own host can read, and those that are beyond their limit. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._finding import Code, End, Finding, Measure, Topic
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import integer, real

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._counters import Place
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._spots import Spot

EFFECTIVE_BER = "EffectiveBER"
"""The share of the bits that are wrong after error correction. No counter, but judged beside them, and not by the hour."""
DEFAULT_LIMIT = 1e-12

_LARGEST = 1 << 64
_NAMED = 8
_ALLOWED = "an entry of ports as rdma.ofed.mlxlink_info returns it, with port_guid, port and counters"


def amount(value: t.Any) -> float | None:
    """The number from 0 on that an option holds; None for what is none. A template makes text of a number."""
    found = real(value) if isinstance(value, str) else value
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        return None
    # NaN is in no range.
    return found if 0 <= found <= _LARGEST else None


def unread_of(links: t.Sequence[t.Mapping[str, t.Any]]) -> dict[Place, str]:
    """The ports that their hosts could not read, with the reason. Those of Ethernet have no part in a fabric."""
    found = ((link.get("port_guid"), integer(str(link.get("port"))), link.get("error")) for link in links)
    return {(str(guid), port): str(error) for guid, port, error in found if guid and port and error}


def rates_of(links: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[dict[Place, float], list[Problem]]:
    """The rates that are known, by port; a port of Ethernet has no part in a fabric, and one that could not be read no rate."""
    rates: dict[Place, float] = {}
    broken: list[int] = []
    for index, link in enumerate(links):
        guid, port, counters = link.get("port_guid"), integer(str(link.get("port"))), link.get("counters")
        if not isinstance(guid, str) or not port or not isinstance(counters, t.Mapping):
            broken.append(index)
            continue
        rate = amount(counters.get("effective_ber"))
        if guid and rate is not None:
            rates[guid, port] = rate
    if not broken:
        return rates, []
    first = links[broken[0]]
    hint = "%d entries have another form" % len(broken) if broken[1:] else ""
    return rates, [Problem("links[%d]" % broken[0], "a mapping with %s" % (", ".join(sorted(map(str, first))[:_NAMED]) or "nothing"), _ALLOWED, hint)]


def judge_rate(spot: Spot, rate: float, limit: float) -> t.Iterator[Finding]:
    """The finding of one port, if there is one."""
    if rate > limit:
        end = End(spot.node_guid, spot.name, spot.port)
        yield Finding(Code.BIT_ERRORS, Topic.COUNTER, aspect=EFFECTIVE_BER, measure=Measure(rate, limit), ends=(end,))
