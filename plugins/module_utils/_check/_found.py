# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state found on a node that is checked. Pure."""

from __future__ import annotations

import typing as t

from ._live._types import Live


class Found(t.NamedTuple):
    """The present state of one node."""

    live: Live = Live()
    concerns: t.Mapping[str, t.Any] = {}
    """What the looks of the expectations found, by name. Unchecked expectations, and those not read yet, are missing."""
