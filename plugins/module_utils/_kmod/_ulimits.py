# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan for limits: our files, and the daemons that run with a lower limit than declared. Pure."""

from __future__ import annotations

import posixpath
import typing as t

from .._host._files import file_change
from .._plan import Change, Kind
from . import _limits as limits
from ._limits import others, reaches

if t.TYPE_CHECKING:
    from ._found import Found
    from ._limits import Daemon, Limit, Line
    from ._wanted import Wanted


def limit_changes(wanted: Wanted, found: Found) -> list[Change | None]:
    """Our files with the limits. A lower limit set by others stays unchanged: the site has chosen it."""

    def text(render: t.Callable[[t.Sequence[Limit]], str], lines: t.Sequence[Line]) -> str:
        declared = [limit for limit in wanted.limits if found.may_raise and not others(lines, limit)]
        return render([limits.with_hard(limit, lines, _most(found)) for limit in declared])

    return [
        file_change(path, found.text(path), text(render, lines))
        for path, render, lines in (
            (limits.SESSIONS_PATH, limits.sessions_text, found.session_limits),
            (limits.SERVICES_PATH, limits.services_text, found.service_limits),
        )
    ] + [_unit_change(unit, wanted.limits, found) for unit in limits.UNITS]


def _most(found: Found) -> int:
    """The largest hard limit of open files. systemd may have raised fs.nr_open far above what is of use."""
    return min(found.most_files or limits.NOFILE.most, limits.NOFILE.most)


def _unit_change(unit: str, declared: t.Sequence[Limit], found: Found) -> Change | None:
    lines = ((limit, _low_line(unit, found, limit)) for limit in declared)
    low = [limit for limit, line in lines if line is not None and found.may_raise and _gives_way(line, unit)]
    raised = [limits.with_hard(limit, found.unit_limits[unit], _most(found)) for limit in low]
    path = limits.UNIT_PATHS[unit]
    return file_change(path, found.text(path), limits.unit_text(raised))


def restart_changes(wanted: Wanted, found: Found) -> list[Change]:
    """The restarts of daemons that get more in this way, one for each unit. Its aspect is the resource."""
    low: dict[str, Change] = {}
    for limit in wanted.limits if wanted.restarts else ():
        for daemon in restarts(found, limit):
            low.setdefault(daemon.unit, Change(Kind.UNIT, daemon.unit, limit.resource, daemon.value, limit.value, needs="restart"))
    return list(low.values())


def _low_line(unit: str, found: Found, limit: Limit) -> Line | None:
    """The line of others that counts for a unit, if it sets less than `limit`."""
    last = limits.counting(found.unit_limits.get(unit, ()), limit.resource)[-1:]
    return last[0] if last and not reaches(last[0].value, limit.value) else None


def _gives_way(line: Line, unit: str) -> bool:
    """Whether our file for the unit counts instead of a line. What the site has written into /etc stays in effect."""
    path, own = line.path, limits.UNIT_PATHS[unit]
    return not path.startswith("/etc/") and (not path.endswith(".conf") or posixpath.basename(path) < posixpath.basename(own))


def limit_of_unit(unit: str, found: Found, limit: Limit) -> Line | None:
    """The line of others that limits a daemon to less than `limit`, and stays in effect."""
    line = _low_line(unit, found, limit)
    return None if line is None or _gives_way(line, unit) else line


def low_containers(found: Found, limit: Limit) -> list[Line]:
    """The lines of container engines that limit containers to less than `limit`."""
    lines = limits.lines_of(found.container_limits, limit.resource)
    return [line for line in lines if found.may_raise and not reaches(line.value, limit.value)]


def low_daemons(found: Found, limit: Limit) -> list[Daemon]:
    """The daemons with less than `limit`."""
    return [daemon for daemon in found.daemons or () if daemon.resource == limit.resource and not reaches(daemon.value, limit.value)]


def remedy(daemon: Daemon, found: Found, limit: Limit) -> str:
    """What can be done about a daemon with less than `limit`."""
    line = limit_of_unit(daemon.unit, found, limit)
    if line:
        return "%s line %d sets it: change or remove that line, then 'systemctl daemon-reload' and 'systemctl restart %s'" % (*line[:2], daemon.unit)
    start = "it was started before the limit was raised: "
    if daemon.obstacle:
        return start + "'systemctl restart %s' while nothing depends on it, because %s" % (daemon.unit, daemon.obstacle)
    return start + "'systemctl restart %s', or run rdma.ofed.site with rdma_allow_interruption: true; what it has started goes on" % daemon.unit


def restarts(found: Found, limit: Limit) -> list[Daemon]:
    """The daemons, one for each unit, that get at least `limit` by a restart, and with nothing lost. `found`: the state in which the files are as declared."""
    default = not others(found.service_limits, limit)
    units: dict[str, Daemon] = {}
    for daemon in low_daemons(found, limit) if found.may_raise else ():
        own = bool(limits.counting(found.unit_limits.get(daemon.unit, ()), limit.resource))
        will = limit_of_unit(daemon.unit, found, limit) is None if own else default
        if will and not daemon.obstacle:
            units.setdefault(daemon.unit, daemon)
    return list(units.values())
