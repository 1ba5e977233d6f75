# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the variables of the role. The interfaces are validated by the role ipoib."""

from __future__ import annotations

import typing as t

from .._codes import read_int
from .._errors import Problem
from .._schema._ipoib_network import VARIABLES
from .._schema._values import value_problems
from ._wanted import AUTO, KEEP, MOST_NEIGHBOURS

_NEIGHBOURS = "ipoib_network_neighbours"


def problems(variables: t.Mapping[str, t.Any], _facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Problems of the `ipoib_network_*` variables."""
    found = value_problems(VARIABLES, variables)
    value = variables.get(_NEIGHBOURS, AUTO)
    number = read_int(value)
    if value not in (AUTO, KEEP) and (number is None or not 1 <= number <= MOST_NEIGHBOURS):
        found.append(Problem(_NEIGHBOURS, value, "auto, keep, or a number of hosts from 1 to %d" % MOST_NEIGHBOURS))
    return found
