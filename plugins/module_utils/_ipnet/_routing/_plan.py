# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan for the routes by source address: a script, a unit that runs it, and what the kernel has of them. Pure."""

from __future__ import annotations

import typing as t

from ..._host._files import HEADER, file_change
from ..._host._units import STATE, switch
from ..._plan import Change, Kind
from ..._tools._ip import RuleRow
from ._found import SCRIPT_PATH, SERVICE, UNIT_PATH
from ._unit import render

if t.TYPE_CHECKING:
    from ._found import Routing
    from ._wanted import Source

STOPPED, RUNNING, RESTART = "stopped", "running", "restart"
"""The states of the unit in a change. RESTART: it runs, with other settings or without effect."""


def is_ours(text: str) -> bool:
    """Whether a file is of the collection. The script begins with the line of its shell."""
    return text.startswith(HEADER) or text.partition("\n")[2].startswith(HEADER)


def changes(sources: t.Sequence[Source], found: Routing) -> list[Change | None]:
    """The changes in order. The unit takes its rules and routes back when it stops, so it stops before its files go."""
    files, texts = render(sources), {SCRIPT_PATH: found.script, UNIT_PATH: found.unit_text}
    if not sources and not all(map(is_ours, filter(None, texts.values()))):
        return []
    written = [file_change(path, texts[path], files[path]) for path in (SCRIPT_PATH, UNIT_PATH)]
    enabled = switch(SERVICE, found.unit.enabled == "enabled", bool(sources))
    state = found.unit.active if found.unit.runs else STOPPED
    if not sources:
        stop = Change(Kind.UNIT, SERVICE, STATE, RUNNING, STOPPED) if found.unit.runs else None
        return [stop, enabled if found.unit_text else None, *reversed(written)]
    if not found.systemd:
        return [*written, enabled]
    settled = found.unit.runs and not any(written) and not lacks(sources, found)
    start = None if settled else Change(Kind.UNIT, SERVICE, STATE, STOPPED if state == STOPPED else RESTART, RUNNING)
    return [*written, enabled, start]


def lacks(sources: t.Sequence[Source], found: Routing) -> list[Source]:
    """The sources that the kernel has no rule or no route for, although their interfaces are up and have the address."""
    there = [source for source in sources if (source.name, source.address) in found.addresses]
    return [
        source
        for source in there
        if RuleRow(source.table, source.address, source.table) not in found.rules or (source.network, source.name) not in found.routes.get(source.table, ())
    ]


def refusals(sources: t.Sequence[Source], found: Routing) -> list[str]:
    """Why the routes can't be made, in words."""
    if not sources:
        return []
    texts = {SCRIPT_PATH: found.script, UNIT_PATH: found.unit_text}
    result = ["%s exists and is not the collection's: rename it" % path for path, text in texts.items() if text and not is_ours(text)]
    if not found.systemctl:
        result.append("policy routing needs systemd, and this node has none: declare ipoib_network_policy_routing: false")
    tables = {source.table for source in sources}
    if not found.unit_text:
        form = "the kernel has a rule of others with the priority %d, from %s: give it another one, or declare ipoib_network_policy_routing: false"
        result += [form % (rule.priority, rule.source or "all") for rule in found.rules if rule.priority in tables]
    return result
