# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The declared monitor. Pure."""

from __future__ import annotations

import typing as t

from ._settings import HealthSettings, SampleSettings


class Wanted(t.NamedTuple):
    sample: SampleSettings | None = None
    interval: int = 300
    health: HealthSettings | None = None
    checks: frozenset[str] = frozenset()
