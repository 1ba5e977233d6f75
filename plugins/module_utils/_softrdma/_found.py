# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The software RDMA links of a node, and their interfaces and drivers. Pure."""

from __future__ import annotations

import typing as t

from .._facts._soft_links import Link
from .._host._units import Unit
from .._kmod._names import Catalogue


class Netdev(t.NamedTuple):
    """A network interface, as far as drivers depend on it."""

    type: str
    """The number in `/sys/class/net/*/type`."""
    vlan: bool = False


class Found(t.NamedTuple):
    links: t.Mapping[str, Link] = {}
    """The software RDMA devices; their netdev is "" where it is unknown."""
    hardware: frozenset[str] = frozenset()
    """The names of all other RDMA devices."""
    netdevs: t.Mapping[str, Netdev] = {}
    files: t.Mapping[str, str] = {}
    """The files at the paths of our units."""
    systemd: bool = True
    """Whether systemd runs, which creates the links at boot."""
    units: t.Mapping[str, Unit] = {}
    catalogue: Catalogue = Catalogue()
    """The modules that the running kernel can load."""
    loaded: frozenset[str] = frozenset()
    release: str = ""
    container: bool = False
    image: bool = False
    """Whether this is the tree of an image: the interfaces are those of other machines."""
