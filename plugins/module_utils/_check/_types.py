# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wanted and the found state of a node. Pure data."""

from __future__ import annotations

import typing as t

from .._expectations import EXPECTATIONS
from ._live import Live

if t.TYPE_CHECKING:
    from .._accepted import Accepted
    from .._expectation import Interface


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


class Wanted(t.NamedTuple):
    """What the inventory says about one node."""

    ports: tuple[str, ...] = ()
    """Names of ports; where empty, the ports under the declared interfaces are meant."""
    concerns: t.Mapping[str, t.Any] = {}
    """What each expectation wants, by its name; without those of which nothing is checked."""
    pcie: bool = False
    """Whether the PCI Express links of adapters are checked."""
    pcie_accepted: tuple[str, ...] = ()
    """PCI addresses of those that may be as they are."""
    fabrics: tuple[Fabric, ...] = (Fabric(),)
    subnet_manager: bool = True
    """Whether subnet managers are checked."""
    port_count: int = 0
    """How many ports of InfiniBand must be as fast as declared; 0 for all that are checked."""
    min_speed: str = ""
    min_width: str = ""
    """"" for the widths that links of their speeds have."""
    host: str = ""
    """The name of this node in the inventory."""
    accepted: tuple[Accepted, ...] = ()
    """Findings that the site accepts."""
    today: str = ""

    def interfaces(self, found: Found | None = None) -> list[Interface]:
        """The network interfaces that are declared to be there; without a look, by the names that the inventory has for them."""
        concerns = found.concerns if found is not None else {}
        return [
            interface
            for each in EXPECTATIONS
            if each.name in self.concerns and (found is None or each.name in concerns)
            for interface in each.interfaces(self.concerns[each.name], concerns.get(each.name))
        ]


class Found(t.NamedTuple):
    """One node as it is now."""

    live: Live = Live()
    concerns: t.Mapping[str, t.Any] = {}
    """What the looks of the expectations found, by their names; without what is not checked, or not read yet."""
