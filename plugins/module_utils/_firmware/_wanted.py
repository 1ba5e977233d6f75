# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is declared about the firmware of a node's adapters. Pure."""

from __future__ import annotations

import typing as t


class Wanted(t.NamedTuple):
    """The validated variables of the role."""

    devices: tuple[t.Mapping[str, t.Any], ...] = ()
    images: str | t.Mapping[str, t.Any] | None = None
    versions: t.Mapping[str, str] = {}
    allow_downgrade: bool = False
    config: tuple[t.Mapping[str, t.Any], ...] = ()
    missing: str = "ignore"
