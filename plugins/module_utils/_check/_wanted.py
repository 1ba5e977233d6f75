# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wanted of a node that is checked. Pure."""

from __future__ import annotations

import typing as t

from .._expectations import EXPECTATIONS
from ._found import Found
from ._types import Fabric

if t.TYPE_CHECKING:
    from .._accepted import Accepted
    from .._expectation import Interface


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
