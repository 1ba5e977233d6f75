# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wanted state of a node that is checked. Pure."""

from __future__ import annotations

import typing as t

from .._expectations import EXPECTATIONS
from ._found import Found
from ._types import Fabric

if t.TYPE_CHECKING:
    from .._accepted import Accepted
    from .._expectation import Interface


# How what slows down an adapter is judged, besides `report`.
UNCHECKED, FAILS = "none", "fail"


class Wanted(t.NamedTuple):
    """What the inventory says about one node."""

    ports: tuple[str, ...] = ()
    """Names of the checked ports. Empty means the ports under the declared interfaces."""
    concerns: t.Mapping[str, t.Any] = {}
    """What each expectation wants, by its name. Expectations that are not checked are missing."""
    pcie: bool = False
    """Whether the PCI Express links of adapters are checked."""
    pcie_accepted: tuple[str, ...] = ()
    """PCI addresses of adapters whose PCI Express links may be degraded."""
    performance: str = UNCHECKED
    """Whether what slows down the adapters is not checked (UNCHECKED), a notice (`report`) or an error (FAILS)."""
    fabrics: tuple[Fabric, ...] = (Fabric(),)
    subnet_manager: bool = True
    """Whether subnet managers are checked."""
    port_count: int = 0
    """How many InfiniBand ports must have the declared speed; 0 for all checked ports."""
    min_speed: str = ""
    min_width: str = ""
    """The minimum link width; "" for the usual width of the link's speed."""
    host: str = ""
    """The inventory name of this node."""
    accepted: tuple[Accepted, ...] = ()
    """Findings that the site accepts."""
    today: str = ""

    def interfaces(self, found: Found | None = None) -> list[Interface]:
        """The declared network interfaces that must exist; without `found`, under their names in the inventory."""
        concerns = found.concerns if found is not None else {}
        return [
            interface
            for each in EXPECTATIONS
            if each.name in self.concerns and (found is None or each.name in concerns)
            for interface in each.interfaces(self.concerns[each.name], concerns.get(each.name))
        ]
