# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The monitor of a node. Pure."""

from __future__ import annotations

import typing as t

from .._host._units import Unit
from . import _settings as places


class Found(t.NamedTuple):
    files: t.Mapping[str, str] = {}
    """The content of the existing files of `FILES`."""
    left: t.Mapping[str, str] = {}
    """The files written by the programs, by path; of the textfile, its first line."""
    timer: Unit = Unit(places.TIMER)


class Installed(t.NamedTuple):
    """What the look reports for a discovery."""

    files: t.Mapping[str, str] = {}
    """The existing files of `FILES`: settings and the timer with their content, others with the lines by which they are recognised."""
