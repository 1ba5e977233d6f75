# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validation of values from their declarations alone. Pure."""

from __future__ import annotations

import typing as t

from .._codes import read_int
from .._errors import Problem
from .._foreign import BOOLEAN, is_boolean

_TIMEOUTS = (60, 86400)


def value_problems(declared: t.Mapping[str, t.Mapping[str, t.Any]], variables: t.Mapping[str, t.Any], apart: t.Collection[str] = ()) -> list[Problem]:
    """Problems of set variables that are no booleans, or whose text is not among the choices.

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
    """Whether a value is one of the choices. Numbers count as their text, as in options of type `str`. In Python, True is a number."""
    return isinstance(value, (str, int)) and not isinstance(value, bool) and str(value) in choices


def timeout_problems(variable: str, value: t.Any) -> list[Problem]:
    """Problems of the time limit of a job."""
    number = read_int(value)
    return [] if number is not None and _TIMEOUTS[0] <= number <= _TIMEOUTS[1] else [Problem(variable, value, "seconds, %d to %d" % _TIMEOUTS)]
