# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""systemd units: their state according to systemctl, and the verbs that change it."""

from __future__ import annotations

import os
import typing as t

from .._foreign import decimal
from .._plan import Change, Kind
from ._files import under

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ._run import Runner

# Aspects of a change of a unit, and the values of the boolean ones.
STATE, ENABLED, MASKED = "state", "enabled", "masked"
YES, NO = "yes", "no"

_PROPERTIES = ("Id", "LoadState", "ActiveState", "UnitFileState", "FragmentPath", "MainPID")
TIMEOUT = 120.0


class Unit(t.NamedTuple):
    """State of one unit, in systemd's own words."""

    name: str
    load: str = "not-found"
    """`loaded`, `not-found`, `masked`, `error` ..."""
    active: str = "inactive"
    enabled: str = ""
    """`enabled`, `disabled`, `static`, `masked` ...; "" where there is no unit file."""
    path: str = ""
    main_pid: int = 0

    @property
    def exists(self) -> bool:
        return self.load not in ("not-found", "")

    @property
    def runs(self) -> bool:
        """Whether it is active or activating."""
        return self.active in ("activating", "active", "reloading")


def properties_of(stdout: str) -> dict[str, dict[str, str]]:
    """Parse `systemctl show -p Id,... UNIT ...`: one block of `Key=value` lines per unit, separated by blank lines."""
    blocks = (dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in stdout.split("\n\n"))
    return {fields["Id"]: fields for fields in blocks if "Id" in fields}


def parse_show(stdout: str) -> dict[str, Unit]:
    """The states in the output of `systemctl show`."""
    return {
        name: Unit(
            name=name,
            load=fields.get("LoadState", "not-found"),
            active=fields.get("ActiveState", "inactive"),
            enabled=fields.get("UnitFileState", ""),
            path=fields.get("FragmentPath", ""),
            main_pid=decimal(fields.get("MainPID", ""), 0),
        )
        for name, fields in properties_of(stdout).items()
    }


def units_like(run: Runner, *patterns: str) -> dict[str, Unit]:
    """The state of the units whose names match the patterns, from one process."""
    return parse_show(run(["systemctl", "show", "--no-pager", "-p", ",".join(_PROPERTIES), "--", *patterns]).stdout)


def show_units(run: Runner, names: Sequence[str]) -> dict[str, Unit]:
    """The state of each named unit, from one process; a unit that does not exist has `load == "not-found"`."""
    found = units_like(run, *names)
    return {name: found.get(name, Unit(name)) for name in names}


def systemd_runs(root: str = "/") -> bool:
    """Whether the node was booted with systemd (sd_booted(3)); its commands also exist in containers and chroots."""
    return os.path.isdir(under(root, "run/systemd/system"))


def switch(unit: str, before: bool, after: bool, *, aspect: str = ENABLED) -> Change:
    """The change of a boolean aspect of a unit."""
    return Change(Kind.UNIT, unit, aspect, YES if before else NO, YES if after else NO)


class Systemd:
    """Changes units. A verb raises CommandFailed where systemctl fails, unless it is only an `attempt`."""

    def __init__(self, run: Runner, *, timeout: float = TIMEOUT) -> None:
        self._run = run
        self._timeout = timeout

    def _call(self, verb: t.Sequence[str], units: t.Sequence[str], *, attempt: bool = False) -> None:
        """Run a verb. Does nothing without units."""
        if units:
            self._run(["systemctl", *verb, *units], ok=None if attempt else (0,), timeout=self._timeout)

    def daemon_reload(self) -> None:
        self._run(["systemctl", "daemon-reload"], timeout=self._timeout)

    def start(self, *units: str) -> None:
        self._call(["start"], units)

    def allow_start(self, *units: str) -> None:
        """Reset the failed state and the start counter of units."""
        self._call(["reset-failed"], units, attempt=True)

    def stop(self, *units: str) -> None:
        self._call(["stop"], units)

    def restart(self, *units: str) -> None:
        self._call(["restart"], units)

    def reload(self, *units: str, attempt: bool = False) -> None:
        self._call(["reload"], units, attempt=attempt)

    def enable(self, *units: str) -> None:
        self._call(["enable"], units)

    def disable(self, *units: str) -> None:
        self._call(["disable"], units)

    def disable_and_stop(self, *units: str) -> None:
        self._call(["disable", "--now"], units)

    def remove_boot_links(self, unit: str) -> None:
        """Disable a unit that may not exist, without reloading unit files."""
        self._call(["--no-reload", "disable"], [unit], attempt=True)

    def set_enabled(self, change: Change) -> None:
        """Carry out a change of the aspect ENABLED, see `switch`."""
        self._call(["enable" if change.after == YES else "disable"], [change.subject])

    def is_active(self, *units: str) -> bool:
        """Whether one of the units is active."""
        return self._run(["systemctl", "is-active", "--quiet", *units], ok=None).rc == 0


def is_masked(path: str) -> bool:
    return os.path.islink(path) and os.readlink(path) == "/dev/null"
