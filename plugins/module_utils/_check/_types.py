# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Types of the wanted and the found state of a node. Pure data."""

from __future__ import annotations

import typing as t


class Fabric(t.NamedTuple):
    """A fabric that ports of this node are on, and the hosts that are to manage it."""

    fabric: str = "ib"
    ports: tuple[str, ...] = ()
    """The ports on it, for a node on several fabrics; empty means any port."""
    designated: bool = False
    """Whether this node is the designated host of the fabric."""
    standby: bool = False
    """Whether this node runs a standby subnet manager."""
    designated_host: str = ""
    designated_absent: bool = False
    """Whether the designated host is not among the hosts of this run."""
    designated_names: tuple[str, ...] = ()
    """Other names of the designated host."""
    designated_guids: tuple[str, ...] = ()
    """Port GUIDs of the designated host, where known."""
    standbys: t.Mapping[str, t.Sequence[str]] = {}
    """The hosts that are standby for the designated one, with their port GUIDs where known, and their other names."""
    partitions: t.Mapping[int, str] = {}
    """The partitions that name this node or one of its groups, by P_Key without the membership bit, with its membership."""

    @property
    def managed_here(self) -> bool:
        """Whether this node is to run a subnet manager for it."""
        return self.designated or self.standby
