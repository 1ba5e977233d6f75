# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The declared settings of a port of the fabric. Pure."""

from __future__ import annotations

import typing as t

from ..._codes import guid_problems, normal_guid
from ..._errors import Problem, require_none
from .._choice import Address

STATE, SPEEDS, WIDTHS = "state", "speeds", "widths"
ENABLED, DISABLED, RESET, UNCHANGED = "enabled", "disabled", "reset", "unchanged"
_LAST_PORT = 254


class Setting(t.NamedTuple):
    """The wanted settings of the port. Empty lists leave the present values."""

    state: str = UNCHANGED
    speeds: tuple[str, ...] = ()
    widths: tuple[str, ...] = ()


def wanted_of(options: t.Mapping[str, t.Any]) -> tuple[Address, Setting]:
    """Parse the options of the module. Raises InvalidInput."""
    node, guid, number = options["node"].strip(), options["guid"].strip(), options["number"]
    problems = guid_problems("guid", guid, "a node or port GUID") if guid else []
    if bool(node) == bool(guid):
        problems.append(Problem("node", options["node"], "the name of a host or switch, or nothing and guid in its place"))
    if number is not None and not 0 < number <= _LAST_PORT:
        problems.append(Problem("number", number, "the number of a port, 1 to %d" % _LAST_PORT))
    require_none(problems)
    return Address(node, normal_guid(guid) if guid else "", number or 0), Setting(options["state"], tuple(options["speeds"]), tuple(options["widths"]))
