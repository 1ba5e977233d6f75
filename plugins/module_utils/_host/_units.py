# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The state of systemd units, as systemctl shows it."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

PROPERTIES = ("Id", "LoadState", "ActiveState", "SubState", "UnitFileState", "FragmentPath", "MainPID", "NRestarts")


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
