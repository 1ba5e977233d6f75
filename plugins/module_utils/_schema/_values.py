# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check of values that follows from declarations alone. Pure."""

from __future__ import annotations

import typing as t

from .._codes import read_int
from .._errors import Problem
from .._foreign import BOOLEAN, is_boolean

_TIMEOUTS = (60, 86400)


def value_problems(declared: t.Mapping[str, t.Mapping[str, t.Any]], variables: t.Mapping[str, t.Any], apart: t.Collection[str] = ()) -> list[Problem]:
    """Booleans that are none, and texts that are not among their choices, of the variables that are set.

    `declared` is a table `VARIABLES` of this package. The variables in `apart` are checked elsewhere.
    """
    found = []
    for name, option in declared.items():
        if name not in variables or name in apart:
            continue
        value = variables[name]
        if option["type"] == "bool" and not is_boolean(value):
            found.append(Problem(name, value, BOOLEAN))
        elif option["type"] == "str" and "choices" in option and not _is_choice(value, option["choices"]):
            found.append(Problem(name, value, ", ".join(option["choices"])))
    return found


def _is_choice(value: t.Any, choices: t.Collection[str]) -> bool:
    """Numbers count as their text, as in options of type `str`. True is a number to Python."""
    return isinstance(value, (str, int)) and not isinstance(value, bool) and str(value) in choices


def timeout_problems(variable: str, value: t.Any) -> list[Problem]:
    """What is wrong with the time limit of a job."""
    number = read_int(value)
    return [] if number is not None and _TIMEOUTS[0] <= number <= _TIMEOUTS[1] else [Problem(variable, value, "seconds, %d to %d" % _TIMEOUTS)]
