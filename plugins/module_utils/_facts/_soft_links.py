# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Software RDMA links: their types and names, their representation in sysfs, and those that the units of the collection create."""

from __future__ import annotations

import glob
import os
import re
import typing as t

from .._host._files import HEADER, read_text, under

# The driver of each type. The kernel requests it by the alias rdma-link-TYPE.
MODULES: t.Mapping[str, str] = {"rxe": "rdma_rxe", "siw": "siw"}
PROTOCOLS: t.Mapping[str, str] = {"rxe": "RoCE", "siw": "iWARP"}
# /sys/class/infiniband/*/node_type of devices without hardware: RoCE is a channel adapter, iWARP an RNIC.
_NODE_TYPES: t.Mapping[str, str] = {"1": "rxe", "4": "siw"}

DIRECTORY = "/etc/systemd/system"
PREFIX = "rdma-ofed-link-"
_ADD = re.compile(r"^ExecStart=/usr/bin/env rdma link add (?P<name>\S+) type (?P<type>\S+) netdev (?P<netdev>\S+)$", re.MULTILINE)


class Link(t.NamedTuple):
    """An RDMA device that a driver creates on top of a network interface."""

    name: str
    type: str
    netdev: str

    def words(self) -> str:
        return "%s on %s" % (self.type, self.netdev)


def type_of(virtual: bool, node_type: str) -> str:
    """The type of a device. `node_type`: the content of its file, `1: CA`. "" for hardware."""
    return _NODE_TYPES.get(node_type.split(":", 1)[0].strip(), "") if virtual else ""


def unit_of(name: str) -> str:
    return "%s%s.service" % (PREFIX, name)


def path_of(name: str) -> str:
    """The path of a link's unit file."""
    return "%s/%s" % (DIRECTORY, unit_of(name))


def records(files: t.Mapping[str, str]) -> dict[str, Link]:
    """The links, by name, that our units among `files` create."""
    found = {}
    for path, text in files.items():
        match = _ADD.search(text)
        if path.startswith("%s/%s" % (DIRECTORY, PREFIX)) and text.startswith(HEADER) and match:
            found[match.group("name")] = Link(match.group("name"), match.group("type"), match.group("netdev"))
    return found


def read_units(root: str = "/") -> dict[str, str]:
    """The text of every unit whose name matches ours, by its path below `root`."""
    pattern = under(root, "%s/%s*.service" % (DIRECTORY, PREFIX))
    return {"/" + os.path.relpath(path, root): read_text(path) for path in sorted(glob.glob(pattern))}


def read_soft_links(root: str = "/") -> tuple[Link, ...]:
    """The links of our units, by name. The list of ports tells whether they exist now."""
    return tuple(link for _name, link in sorted(records(read_units(root)).items()))
