# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate what is declared about firmware: images and configuration. Pure."""

from __future__ import annotations

import typing as t

from .._errors import Problem
from .._schema._hca_firmware import VARIABLES
from .._schema._values import value_problems
from ._config._input import entry_problems
from ._image._input import image_problems


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """All problems of the variables of the role hca_firmware."""
    found = value_problems(VARIABLES, variables)
    if "hca_firmware_config" in variables:
        found += entry_problems("hca_firmware_config", variables["hca_firmware_config"])
    return found + image_problems(variables, "hca_firmware_")
