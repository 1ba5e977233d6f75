# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wanted and the found state of a node. Pure data."""

from __future__ import annotations

import typing as t

from ._live import Live

if t.TYPE_CHECKING:
    from .._accepted import Accepted
    from .._finding import Finding
    from .._firmware._expect import Differences
    from .._firmware._links import Limits
    from .._firmware._wanted import Wanted as WantedFirmware
    from .._gpudirect._expect import Wanted as WantedGpus
    from .._gpudirect._found import Found as Gpus
    from .._ipoib._concern import Options as IpoibOptions
    from .._ipoib._found import Found as Ipoib
    from .._kmod._found import Found as Modules
    from .._kmod._plan import Wanted as WantedModules
    from .._stack._states import Wanted as WantedStack


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
    """What the inventory says about one node. None is for a concern that is not checked."""

    ports: tuple[str, ...] = ()
    """Names of ports; where empty, the ports under the declared interfaces are meant."""
    ipoib: IpoibOptions | None = None
    kmod: WantedModules | None = None
    gpus: WantedGpus | None = None
    stack: WantedStack | None = None
    links: Limits | None = None
    """What links and cables must keep."""
    firmware: WantedFirmware | None = None
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


class Found(t.NamedTuple):
    """One node as it is now. None is for a concern that is not checked."""

    live: Live = Live()
    ipoib: Ipoib | None = None
    kmod: Modules | None = None
    gpus: Gpus | None = None
    links: tuple[Finding, ...] = ()
    """What mlxlink or mstlink says of the links that are up."""
    firmware: Differences | None = None
