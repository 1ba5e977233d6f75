# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is declared about the firmware of a node's adapters, and in what they differ from it. Pure data."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Pending


class WantedFirmware(t.NamedTuple):
    """The variables of the role hca_firmware, which have passed its validation."""

    devices: tuple[t.Mapping[str, t.Any], ...] = ()
    images: str | t.Mapping[str, t.Any] | None = None
    versions: t.Mapping[str, str] = {}
    allow_downgrade: bool = False
    config: tuple[t.Mapping[str, t.Any], ...] = ()
    missing: str = "ignore"


class Differences(t.NamedTuple):
    """What is not as wanted."""

    changes: tuple[Change, ...] = ()
    """What the role would burn and set."""
    pending: tuple[Pending, ...] = ()
    """What was burned or set before, and waits for the next start of an adapter."""
    errors: tuple[str, ...] = ()
    """Why something could not be compared, or can't be as wanted."""
