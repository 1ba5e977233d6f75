# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the check of a node expects of the firmware of its adapters. Pure."""

from __future__ import annotations

import typing as t

from .._finding import Code, Finding, Topic, of_change

if t.TYPE_CHECKING:
    from .._plan import Change, Pending


class Differences(t.NamedTuple):
    """How the firmware of the adapters differs from what is wanted."""

    changes: tuple[Change, ...] = ()
    """What the role would burn and set."""
    pending: tuple[Pending, ...] = ()
    """What was burned or set before, and waits for the next start of an adapter."""
    errors: tuple[str, ...] = ()
    """Why something could not be compared, or can't be as wanted."""


def findings(found: Differences) -> list[Finding]:
    """What the role would change, what waits for the next start of an adapter, and what can't be as declared."""
    result = [of_change(change) for change in found.changes]
    # What waits for other firmware to run is not set, and has a reason for that.
    result += [of_change(entry.change)._replace(code=Code.DIFFERS if entry.why else Code.FIRMWARE_PENDING) for entry in found.pending]
    return [*result, Finding(Code.REFUSED, Topic.ADAPTERS, detail="; ".join(found.errors))] if found.errors else result
