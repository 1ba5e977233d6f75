# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The firmware of a node's adapters, as a check finds it. Pure data."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from .._plan import Change, Pending


class Differences(t.NamedTuple):
    """How the firmware of the adapters differs from what is wanted."""

    changes: tuple[Change, ...] = ()
    """What the role would burn and set."""
    pending: tuple[Pending, ...] = ()
    """What was burned or set before and waits for the next start of an adapter."""
    errors: tuple[str, ...] = ()
    """Why something could not be compared, or can't be as wanted."""
