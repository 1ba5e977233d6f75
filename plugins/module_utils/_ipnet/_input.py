# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the variables of the role, and the options of the module."""

from __future__ import annotations

import typing as t

from .._codes import read_int
from .._errors import Problem
from .._ipoib._input import LIST
from .._ipoib._input import problems as of_ipoib
from .._schema._ipoib_network import VARIABLES
from .._schema._values import value_problems
from .._tools._firewalld import is_zone_name
from ._wanted import AUTO, KEEP, MOST_NEIGHBOURS, TRUSTED

_PREFIX = "ipoib_network_"
_NEIGHBOURS = _PREFIX + "neighbours"
_ZONE = _PREFIX + "firewall_zone"


def problems(variables: t.Mapping[str, t.Any], _facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Problems of the `ipoib_network_*` variables. Those of the interfaces are reported with the variables of the role ipoib."""
    found = value_problems(VARIABLES, variables)
    value = variables.get(_NEIGHBOURS, AUTO)
    number = read_int(value)
    if value not in (AUTO, KEEP) and (number is None or not 1 <= number <= MOST_NEIGHBOURS):
        found.append(Problem(_NEIGHBOURS, value, "auto, keep, or a number of hosts from 1 to %d" % MOST_NEIGHBOURS))
    zone = variables.get(_ZONE, TRUSTED)
    if isinstance(zone, str) and not is_zone_name(zone):
        found.append(Problem(_ZONE, zone, "the name of a zone of firewalld: letters, digits, - and _"))
    return found


def option_problems(options: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of the options of the module, under the names of the variables. Without the role ipoib, only this validates the interfaces."""
    return [*problems({_PREFIX + name: value for name, value in options.items()}), *of_ipoib({LIST: options["interfaces"]})]
