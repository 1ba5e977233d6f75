# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wanted configuration of an adapter. Pure."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from .._devices import Device


class Setting(t.NamedTuple):
    """One declared value."""

    value: str | None
    """The value as text; None for the default."""
    where: str
    """The place in the input."""
    boolean: bool = False
    """Whether it was a YAML boolean."""
    key: str = ""
    """The key as written, which may stand for several parameters: `NAME[0..3]`."""
    within: str = ""
    """The place in the input of the mapping that has the key."""


class Wanted(t.NamedTuple):
    """The wanted configuration of one adapter."""

    device: Device
    settings: t.Mapping[str, Setting] = {}
    """By parameter; ranges are expanded."""
    reset_all: bool = False
    """Whether all other parameters are reset to their defaults."""
