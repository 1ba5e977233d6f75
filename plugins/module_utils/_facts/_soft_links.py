# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The software RDMA links that the collection made, from their units."""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER, read_text
from ansible_collections.rdma.ofed.plugins.module_utils._tools._rdma_link import Link

DIRECTORY = "/etc/systemd/system"
PREFIX = "rdma-ofed-link-"
_ADD = re.compile(r"^ExecStart=/usr/bin/env rdma link add (?P<name>\S+) type (?P<type>\S+) netdev (?P<netdev>\S+)$", re.MULTILINE)


def unit_of(name: str) -> str:
    """The name of a link's unit."""
    return "%s%s.service" % (PREFIX, name)


def path_of(name: str) -> str:
    """The file of a link's unit."""
    return "%s/%s" % (DIRECTORY, unit_of(name))


def records(files: t.Mapping[str, str]) -> dict[str, Link]:
    """The links that our units among `files` make, by name."""
    found = {}
    for path, text in files.items():
        match = _ADD.search(text)
        if path.startswith("%s/%s" % (DIRECTORY, PREFIX)) and text.startswith(HEADER) and match:
            found[match.group("name")] = Link(match.group("name"), match.group("type"), match.group("netdev"))
    return found


def read_units(root: str = "/") -> dict[str, str]:
    """The text of every unit with a name like those of ours, by its path below `root`."""
    pattern = os.path.join(root, DIRECTORY.lstrip("/"), PREFIX + "*.service")
    return {"/" + os.path.relpath(path, root): read_text(path) for path in sorted(glob.glob(pattern))}


def read_soft_links(root: str = "/") -> tuple[Link, ...]:
    """By name. Ports tell whether they are there now."""
    return tuple(link for _name, link in sorted(records(read_units(root)).items()))
