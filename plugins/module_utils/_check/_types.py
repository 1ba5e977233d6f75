# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wanted and the found state of a node. Pure data."""

from __future__ import annotations

import typing as t


class Fabric(t.NamedTuple):
    """A fabric that ports of this node are on, and who is to manage it."""

    fabric: str = "ib"
    ports: tuple[str, ...] = ()
    """Those on it, where the node is on several; empty means any of them."""
    designated: bool = False
    """Whether this node is its designated subnet manager."""
    standby: bool = False
    """Whether this node runs a subnet manager that stands by."""
    designated_host: str = ""
    designated_absent: bool = False
    """Whether the designated host is outside of the hosts of this run."""
    designated_names: tuple[str, ...] = ()
    """Other names that the designated host goes by."""
    designated_guids: tuple[str, ...] = ()
    """Port GUIDs of the designated host, where they are known."""
    standbys: t.Mapping[str, t.Sequence[str]] = {}
    """The hosts that stand by for the designated one, with their port GUIDs where they are known, and other names that they go by."""

    @property
    def managed_here(self) -> bool:
        """Whether this node is to run a subnet manager for it."""
        return self.designated or self.standby
