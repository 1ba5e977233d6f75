# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upper-layer protocols of a node. Pure."""

from __future__ import annotations

import typing as t

from .._facts._ulps import Record
from .._host._units import Unit


class Found(t.NamedTuple):
    record: Record = Record()
    units: t.Mapping[str, Unit] = {}
    loaded: frozenset[str] = frozenset()
    """The names of PROTOCOLS' modules that are loaded or built in."""
    load_text: str = ""
    conf_text: str = ""
    """The content of openib.conf; "" where there is none."""

    def unit(self, name: str) -> Unit:
        return self.units.get(name, Unit(name))
