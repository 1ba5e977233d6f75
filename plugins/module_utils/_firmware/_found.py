# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The firmware of a node's adapters, as a check or a discovery finds it. Pure data."""

from __future__ import annotations

import typing as t

from .._tools._mlxconfig import Row

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


class SeenAdapter(t.NamedTuple):
    """One adapter, as a discovery finds it. A field is "" where its value is unknown."""

    pci: str
    """Its first function."""
    psid: str = ""
    """As the driver reports it: selectors know no other."""
    apart: str = ""
    """Why nothing was queried: its firmware belongs to a larger unit."""
    flash_psid: str = ""
    version: str = ""
    """The version in its flash, like its PSID; unknown where no tool can read the flash."""
    running: str = ""
    parameters: t.Optional[t.Tuple[Row, ...]] = None
    """Those that differ from their defaults, or at the next start. None: they could not be read."""
    unknown: t.Tuple[str, ...] = ()
    """The parameters whose defaults the firmware does not report."""
    without_defaults: bool = False
    """Whether it reports no default at all."""
    errors: t.Tuple[str, ...] = ()


class Seen(t.NamedTuple):
    """The adapters of a node, and the tools that it has for them."""

    adapters: t.Tuple[SeenAdapter, ...] = ()
    tools: t.Tuple[str, ...] = ()
