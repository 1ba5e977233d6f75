# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The declared method of access to GPU memory. Pure."""

from __future__ import annotations

import typing as t

from ._source import Source


class Wanted(t.NamedTuple):
    method: str = "auto"
    allow_rebuild: bool = False
    support: str = "auto"
    source: Source = Source("")


def wanted_of(options: t.Mapping[str, t.Any]) -> Wanted:
    """Parse the options of the module."""
    source = Source(options["source"], options["commit"], options["checksum"])
    return Wanted(options["method"], options["allow_rebuild"], options["peerdirect_support"], source)
