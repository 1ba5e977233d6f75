# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of a rehearsal, for people. Pure."""

from __future__ import annotations

import typing as t

from ...module_utils._words import columns, some
from ._judge import Rehearsed

_SHOWN = 10
_PHASES = ("before", "after")


def _managers(found: Rehearsed, summary: t.Mapping[str, t.Any]) -> list[str]:
    rows: list[tuple[str, ...]] = [("state", "host", "part", "priority", "became", "node")]
    for name in _PHASES:
        for each in summary[name]["managers"]:
            state = found.states[name].get(each["host"]) or "no subnet manager"
            rows.append((name, each["host"], each["part"], str(each["priority"]), state, "%s %s" % (each["guid"], each["node"])))
        rows += [(name, host, "resting", "", found.states[name].get(host) or "no subnet manager", "") for host in summary[name]["resting"]]
    return columns(rows)


def _listed(title: str, items: t.Sequence[str]) -> list[str]:
    """A title with the first of many items; nothing without any."""
    more = ["  and %d more" % (len(items) - _SHOWN)] if len(items) > _SHOWN else []
    return [title, *("  " + item for item in items[:_SHOWN]), *more] if items else []


def _time(found: Rehearsed) -> str:
    if found.seconds is None:
        return "The subnet never came up under the designated host"
    if not found.seconds:
        return "The subnet stayed up: nothing had to be routed again"
    return "The subnet was up %.1f s after the beginning of the change" % found.seconds


def render(found: Rehearsed, summary: t.Mapping[str, t.Any], *, title: str, changes: t.Sequence[str]) -> str:
    """The whole report."""
    masters = dict(found.masters)
    lines = [
        title,
        "Change: %s" % ("; ".join(changes) or "none"),
        "",
        *_managers(found, summary),
        "",
        *columns([("seconds", "host", "event"), *(("%7.1f" % line.seconds, line.host, line.words) for line in found.timeline)]),
        "",
        "%s. Without a master: %.1f s. With more than one: %.1f s" % (_time(found), found.without, found.several),
        "Master: %s" % ", ".join("%s %s" % (masters[name] or "none", name) for name in _PHASES),
        "Routing engine: %s" % ", ".join("%s %s" % (found.engines[name] or "not known", name) for name in _PHASES),
        "Pairs of ports without a route: %s" % ", ".join("%d of %d %s" % (found.pairs[name][1], found.pairs[name][0], name) for name in _PHASES),
        *_listed("  For example:", ["%s to %s" % pair for pair in found.lost]),
        "LIDs that changed: %d of %d" % (len(found.moved), found.ports),
        *("  %s: %d, now %d" % each for each in found.moved[:_SHOWN]),
        "P_Keys: %s" % ("%d of %d ports differ from what is declared" % (len(found.pkeys), found.checked) if found.checked else "no partitions are declared"),
        *("  " + each for each in found.pkeys[:_SHOWN]),
    ]
    for host, said in found.said.items():
        lines += _listed("opensm of %s said:" % host, said)
    absent = sorted({*summary["before"]["absent"], *summary["after"]["absent"]})
    lines += ["Members of partitions without a port in the file: %s" % some(absent, _SHOWN)] if absent else []
    lines += _listed("Not rehearsed, because the opensm of the simulation does not take it:", summary["left_out"])
    lines += _listed("Not simulated:", summary["not_simulated"])
    lines += ["", *(_listed("Not as declared:", found.problems) or ["All is as declared"])]
    return "\n".join(lines)
