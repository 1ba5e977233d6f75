# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of `ib_counters`, except those that name nodes. Pure."""

from __future__ import annotations

import typing as t

from ..._errors import Problem, label, require_none
from ..._foreign import integer, real
from .._choice import filter_of
from ._types import COUNTERS, JUDGED, Place
from ._wanted import Wanted

EFFECTIVE_BER = "EffectiveBER"
"""The bit error rate after error correction. It is no counter, but judged with them, and not per hour."""
NOTHING, ERRORS, ALL = "nothing", "errors", "all"
_DEFAULTS = {**{name: COUNTERS[name].per_hour for name in JUDGED}, EFFECTIVE_BER: 1e-12}
LIMITED = tuple(_DEFAULTS)
"""Everything that has a threshold."""
_LAST_PORT = 254
_LONGEST = 86400.0
_LARGEST = 1 << 64
_NAMED = 8
_LINK = "an entry of ports as rdma.ofed.mlxlink_info returns it, with port_guid, port and counters"


def limits_of(thresholds: t.Mapping[str, float], suppressed: t.Collection[str]) -> dict[str, float]:
    """The limits: of a counter per hour, and of EFFECTIVE_BER independent of time. What is suppressed has no limit."""
    return {name: limit for name, limit in {**_DEFAULTS, **thresholds}.items() if name not in suppressed}


def _amount(value: t.Any) -> float | None:
    """The non-negative number that an option holds; None for anything else. A template turns numbers into text."""
    found = real(value) if isinstance(value, str) else value
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        return None
    # NaN is in no range.
    return found if 0 <= found <= _LARGEST else None


def _rates_of(links: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[dict[Place, float], dict[Place, str], list[Problem]]:
    """The known bit error rates, the reasons why those of other ports are unknown, and the problems."""
    rates: dict[Place, float] = {}
    unread: dict[Place, str] = {}
    broken: list[int] = []
    for index, link in enumerate(links):
        guid, port, counters = link.get("port_guid"), integer(str(link.get("port"))), link.get("counters")
        if not isinstance(guid, str) or not port or not isinstance(counters, t.Mapping):
            broken.append(index)
        elif guid:
            # An Ethernet port has no GUID and belongs to no fabric.
            rate = _amount(counters.get("effective_ber"))
            if rate is not None:
                rates[guid, port] = rate
            if link.get("error"):
                unread[guid, port] = str(link["error"])
    if not broken:
        return rates, unread, []
    keys = ", ".join(sorted(map(str, links[broken[0]]))[:_NAMED]) or "nothing"
    hint = "%d entries have another form" % len(broken) if broken[1:] else ""
    return rates, unread, [Problem("links[%d]" % broken[0], "a mapping with %s" % keys, _LINK, hint)]


def wanted_of(options: t.Mapping[str, t.Any]) -> Wanted:
    """Parse the options. Raises InvalidInput."""
    nodes = filter_of(options)
    limits = {label(name): _amount(value) for name, value in options["thresholds"].items()}
    wrong = [
        Problem("thresholds.%s" % name, options["thresholds"].get(name), "a number from 0 on, for one of %s; at most 1 for the last" % ", ".join(LIMITED))
        for name, limit in limits.items()
        if limit is None or name not in LIMITED or (name == EFFECTIVE_BER and limit > 1)
    ]
    wrong += [
        Problem("ports[%d]" % index, port, "the number of a port, 1 to %d" % _LAST_PORT)
        for index, port in enumerate(options["ports"])
        if not 0 < port <= _LAST_PORT
    ]
    if options["ports"] and not any(nodes):
        wrong.append(Problem("ports", options["ports"], "numbers of ports of the nodes that hosts, guids or lids name", "none of them is set"))
    if not 0 <= options["interval"] <= _LONGEST:
        wrong.append(Problem("interval", options["interval"], "seconds, 0 to %d" % _LONGEST))
    elif options["interval"] and options["sample_file"]:
        wrong.append(Problem("interval", options["interval"], "0 with sample_file", "counters are compared over an interval or with the last sample"))
    if options["sample_file"] and not options["sample_file"].startswith("/"):
        wrong.append(Problem("sample_file", options["sample_file"], "the absolute path of a file"))
    rates, unread, broken = _rates_of(options["links"])
    wrong += broken
    require_none(wrong)
    allowed = limits_of({name: limit for name, limit in limits.items() if limit is not None}, options["suppress"])
    return Wanted(nodes, frozenset(options["ports"]), options["interval"], options["sample_file"], allowed, options["clear"], rates, unread)
