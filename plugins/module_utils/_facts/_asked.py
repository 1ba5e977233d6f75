# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port through which a host queries its fabric. By default, the diagnostics take the first device, which may have Ethernet ports."""

from __future__ import annotations

import typing as t

from ._portname import named_ports
from ._ports import read_ports

if t.TYPE_CHECKING:
    from ._ports import Port


def asked_port(name: str, root: str) -> Port | None:
    """The port to query through: the named one, else the first with a link. Raises InvalidInput for a port that does not exist."""
    ports = [port for port in read_ports(root) if port.infiniband]
    if not name:
        own = [port for port in ports if port.in_fabric]
        return next((port for port in own if port.phys_state == "LinkUp"), own[0] if own else None)
    there = [port._asdict() for port in ports]
    (found,) = named_ports({"port": name}, there, none="none: this host has no InfiniBand port")
    return next(port for port in ports if port.name == found["name"])
