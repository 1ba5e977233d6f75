# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""systemd units: their state as systemctl shows it, and the verbs that change it."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import under

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output, Runner

PROPERTIES = ("Id", "LoadState", "ActiveState", "SubState", "UnitFileState", "FragmentPath", "MainPID", "NRestarts")
TIMEOUT = 120.0


class Unit(t.NamedTuple):
    """State of one unit, in systemd's own words."""

    name: str
    load: str = "not-found"
    """`loaded`, `not-found`, `masked`, `error` ..."""
    active: str = "inactive"
    sub: str = "dead"
    enabled: str = ""
    """`enabled`, `disabled`, `static`, `masked` ... or empty where there is no unit file."""
    path: str = ""
    main_pid: int = 0

    @property
    def exists(self) -> bool:
        return self.load not in ("not-found", "")


def parse_show(stdout: str) -> dict[str, Unit]:
    """`systemctl show -p ... UNIT ...`: one block of `Key=value` lines for each unit, separated by blank lines."""
    units: dict[str, Unit] = {}
    for block in stdout.split("\n\n"):
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if "Id" not in fields:
            continue
        units[fields["Id"]] = Unit(
            name=fields["Id"],
            load=fields.get("LoadState", "not-found"),
            active=fields.get("ActiveState", "inactive"),
            sub=fields.get("SubState", "dead"),
            enabled=fields.get("UnitFileState", ""),
            path=fields.get("FragmentPath", ""),
            main_pid=decimal(fields.get("MainPID", ""), 0),
        )
    return units


def show_units(run: Runner, names: Sequence[str]) -> dict[str, Unit]:
    """The state of each named unit, in one process; a unit that does not exist has `load == "not-found"`."""
    found = parse_show(run(["systemctl", "show", "--no-pager", "-p", ",".join(PROPERTIES), "--", *names]).stdout)
    return {name: found.get(name, Unit(name)) for name in names}


def systemd_runs(root: str = "/") -> bool:
    """Whether the node was booted with systemd (sd_booted(3)); its commands exist in containers and chroots as well."""
    return os.path.isdir(under(root, "run/systemd/system"))


class Systemd:
    """Changes units. A verb raises CommandFailed where systemctl fails, unless it is only an `attempt`."""

    def __init__(self, run: Runner, *, timeout: float = TIMEOUT) -> None:
        self._run = run
        self._timeout = timeout

    def _call(self, verb: str, units: t.Sequence[str], attempt: bool) -> Output:
        return self._run(["systemctl", verb, *units], ok=None if attempt else (0,), timeout=self._timeout)

    def daemon_reload(self) -> None:
        """Read the unit files again."""
        self._call("daemon-reload", (), False)

    def start(self, *units: str) -> None:
        self._call("start", units, False)

    def allow_start(self, *units: str) -> None:
        """Forget earlier failures and starts, which count towards the limit of starts."""
        self._call("reset-failed", units, True)

    def stop(self, *units: str) -> None:
        self._call("stop", units, False)

    def restart(self, *units: str) -> None:
        self._call("restart", units, False)

    def reload(self, *units: str, attempt: bool = False) -> None:
        """Let the services read their configuration again."""
        self._call("reload", units, attempt)

    def enable(self, *units: str) -> None:
        self._call("enable", units, False)

    def disable(self, *units: str) -> None:
        self._call("disable", units, False)

    def disable_and_stop(self, *units: str) -> None:
        self._call("disable", ("--now", *units), False)

    def remove_boot_links(self, unit: str) -> None:
        """As `disable`, of a unit that may not exist, and without reading unit files again."""
        self._call("--no-reload", ("disable", unit), True)

    def set_enabled(self, unit: str, enabled: bool) -> None:
        self._call("enable" if enabled else "disable", (unit,), False)

    def is_active(self, *units: str) -> bool:
        """Whether one of the units is active."""
        return self._run(["systemctl", "is-active", "--quiet", *units], ok=None).rc == 0
