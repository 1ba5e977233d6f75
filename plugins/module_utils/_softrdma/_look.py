# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The software RDMA links of a node, and their interfaces and drivers. Read-only."""

from __future__ import annotations

import os
import typing as t

from .._facts._machine import read_machine
from .._facts._soft_links import Link, read_units, records, type_of, unit_of
from .._facts._sysfs import attribute, entries
from .._host._units import Unit, show_units, systemd_runs
from .._kmod._look import read_catalogue, read_loaded
from .._tools._ip import RDMA_LINKS, parse_rdma_netdevs
from ._found import Found, Netdev

if t.TYPE_CHECKING:
    from .._host._run import Runner


def look(run: Runner, links: t.Sequence[Link], release: str, *, root: str = "/", image: bool = False) -> Found:
    """The state of the node. Takes one process for the RDMA devices, if there are any, and one for the units of `links` and of earlier runs."""
    files = read_units(root)
    systemd = run.has("systemctl") and (image or systemd_runs(root))
    names = sorted({unit_of(name) for name in [*(link.name for link in links), *records(files)]})
    units: dict[str, Unit] = show_units(run, names) if names and systemd else {}
    soft, hardware = read_links(run, root)
    return Found(
        links=soft,
        hardware=hardware,
        netdevs=read_netdevs(root),
        files=files,
        systemd=systemd,
        units=units,
        catalogue=read_catalogue(root, [release]),
        loaded=frozenset(read_loaded(root)),
        release=release,
        container=bool(read_machine(root).container),
        image=image,
    )


def read_links(run: Runner, root: str = "/") -> tuple[dict[str, Link], frozenset[str]]:
    """The software RDMA devices, and the names of all others. Without any device, the kernel may not even have RDMA netlink."""
    base = os.path.join(root, "sys/class/infiniband")
    types = {name: type_of("/devices/virtual/" in os.path.realpath(os.path.join(base, name)), attribute(base, name, "node_type")) for name in entries(base)}
    soft = sorted(name for name, kind in types.items() if kind)
    output = run(RDMA_LINKS, ok=None, timeout=10) if soft and run.has("rdma") else None
    netdevs = parse_rdma_netdevs(output.stdout) if output is not None and output.rc == 0 else {}
    links = {name: Link(name, types[name], netdevs.get(name) or attribute(base, name, "parent")) for name in soft}
    return links, frozenset(name for name in types if name not in links)


def read_netdevs(root: str = "/") -> dict[str, Netdev]:
    base = os.path.join(root, "sys/class/net")
    names = [name for name in entries(base) if os.path.isdir(os.path.join(base, name))]
    return {name: Netdev(attribute(base, name, "type"), "DEVTYPE=vlan" in attribute(base, name, "uevent").split()) for name in names}
