# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the counters of a fabric, and clear them. Missing information is a gap, not an error."""

from __future__ import annotations

import typing as t

from ..._errors import CommandFailed
from ..._tools import _port_counters
from .._gap import Code, Gap, gaps_of
from .._look import TIMEOUT_SECONDS, Asking
from ._types import COUNTERS, JUDGED, Counts, Place, Reading, reading

if t.TYPE_CHECKING:
    from ._types import Spot

_NONE: Counts = {}
# The time limit of these queries. Each node that does not answer takes some seconds.
_NODE_SECONDS = 60.0


class Ability(t.NamedTuple):
    """The capabilities of a port's counters."""

    mask: int = 0
    """CapMask."""
    extended: bool = False
    """Whether it has 64-bit counters."""
    wide_errors: bool = False
    """Whether these include error counters."""


class Seen(t.NamedTuple):
    """One look at counters."""

    counts: t.Mapping[Place, Counts]
    """The counters of the ports that were read. A missing counter is zero."""
    abilities: t.Mapping[Place, Ability] = {}
    """Set where ports were read one by one."""


class CounterAsking(Asking):
    """Queries counters through one port."""

    def whole_fabric(self, spots: t.Mapping[Place, Spot]) -> Seen | None:
        """The error counters of all ports; None where they are unknown."""
        argv = _port_counters.ibqueryerrors(self._port.device, self._port.port)
        output = self._answer(argv, ok=(0, 1)) if self._has(argv[0]) else None
        if output is None:
            return None
        errors = _port_counters.parse_errors(output.stdout)
        self.gaps += gaps_of(Code.UNREAD, argv[0], errors.unread)
        if not errors.complete:
            self.gaps.append(Gap(Code.UNFINISHED, argv[0]))
            return None
        silent = set(_port_counters.parse_silent(output.stderr))
        counts: dict[Place, Counts] = {
            place: _NONE for place, spot in spots.items() if (spot.lid, spot.port) not in silent and (spot.lid, _port_counters.ALL_PORTS) not in silent
        }
        strangers = []
        for port in errors.ports:
            place = (port.port_guid, port.port)
            if place in counts:
                counts[place] = {name: Reading(value, wide) for name, value, wide in port.counters if name in COUNTERS}
            elif place not in spots:
                strangers.append("port %d of %s" % (port.port, port.port_guid))
        self.gaps += gaps_of(Code.NOT_IN_TOPOLOGY, argv[0], strangers)
        return Seen(counts)

    def single_ports(self, spots: t.Iterable[Spot]) -> Seen | None:
        """All counters of these ports; None where the tool is missing."""
        if not self._has("perfquery"):
            return None
        by_lid: dict[int, list[Spot]] = {}
        for spot in spots:
            by_lid.setdefault(spot.lid, []).append(spot)
        self.gaps += gaps_of(Code.NO_LID, "", ["%s port %d" % (spot.name, spot.port) for spot in by_lid.pop(0, ())])
        counts: dict[Place, Counts] = {}
        abilities: dict[Place, Ability] = {}
        failed: list[str] = []
        unread: list[str] = []
        for lid, group in by_lid.items():
            basic, wide = (self._listing(lid, group, extended=extended, failed=failed, unread=unread) for extended in (False, True))
            for spot in group:
                port, more = basic.get(spot.port), wide.get(spot.port)
                if port is None:
                    continue
                few, many = port.counters, more.counters if more else {}
                counts[spot.place] = {name: reading(few.get(name), many.get(name)) for name in COUNTERS if name in few or name in many}
                abilities[spot.place] = Ability(port.abilities, bool(many), any(name in many for name in JUDGED))
        self.gaps += gaps_of(Code.FAILED, "perfquery", failed)
        self.gaps += gaps_of(Code.UNREAD, "perfquery", unread)
        return Seen(counts, abilities)

    def _listing(self, lid: int, group: t.Sequence[Spot], *, extended: bool, failed: list[str], unread: list[str]) -> dict[int, _port_counters.PortCounters]:
        """The counters by port number. A port without 64-bit counters is no failure."""
        argv = _port_counters.perfquery(self._port.device, self._port.port, extended=extended, lid=lid, numbers=[spot.port for spot in group])
        try:
            output = self._run(argv, ok=None, timeout=_NODE_SECONDS)
        except CommandFailed:
            failed.append("LID %d: it did not end within %g s" % (lid, _NODE_SECONDS))
            return {}
        if output.rc and not extended:
            failed.append("LID %d: exit status %d %s" % (lid, output.rc, (output.stderr or output.stdout).strip().partition("\n")[0]))
        listing = _port_counters.parse_counters(output.stdout)
        if not output.rc:
            unread += listing.unread
        return {port.port: port for port in listing.ports if port.extended == extended and port.lid == lid}

    def clear_fabric(self, data: bool) -> None:
        """Clear the counters of all ports. Raises CommandFailed."""
        options = (_port_counters.CLEAR_ERRORS, *((_port_counters.CLEAR_DATA,) if data else ()))
        argv = _port_counters.ibqueryerrors(self._port.device, self._port.port, options)
        output = self._run(argv, ok=(0, 1), timeout=TIMEOUT_SECONDS)
        said = [line.strip() for line in output.stderr.splitlines() if line.strip()]
        self.gaps += gaps_of(Code.INCOMPLETE, argv[0], said)

    def clear_ports(self, spots: t.Iterable[Spot], abilities: t.Mapping[Place, Ability], data: bool) -> None:
        """Clear the counters of these ports. Raises CommandFailed."""
        device, port = self._port.device, self._port.port
        for spot in spots:
            ability = abilities[spot.place]
            mask = 0 if data else _port_counters.error_mask(ability.mask)
            self._run(_port_counters.clear(device, port, extended=False, lid=spot.lid, numbers=[spot.port], mask=mask))
            if ability.wide_errors or (data and ability.extended):
                mask = 0 if data else _port_counters.EXTENDED_ERRORS
                self._run(_port_counters.clear(device, port, extended=True, lid=spot.lid, numbers=[spot.port], mask=mask))
