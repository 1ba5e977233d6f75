# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The software RDMA links that this collection made and keeps, from their units."""

from __future__ import annotations

import glob
import os

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._links import Link
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._unit import PATTERN, records


def read_units(root: str = "/") -> dict[str, str]:
    """The text of every unit whose name is like that of our units, by its path below C(root)."""
    return {"/" + os.path.relpath(path, root): read_text(path) for path in sorted(glob.glob(os.path.join(root, PATTERN.lstrip("/"))))}


def read_soft_links(root: str = "/") -> tuple[Link, ...]:
    """By name. Whether they are there now is no matter of this: ports tell."""
    return tuple(link for _name, link in sorted(records(read_units(root)).items()))
