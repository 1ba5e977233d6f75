# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The packages of a node. Read-only."""

from __future__ import annotations

import typing as t

from .._distro._registry import by_name, installed_packages
from .._facts._machine import read_os

if t.TYPE_CHECKING:
    from .._host._node import Node


def seen(node: Node, hints: t.Mapping[str, t.Any]) -> dict[str, str]:
    """The look of the concern: versions of the installed packages."""
    return installed_packages(node.run, by_name(read_os(node.root).family), hints["names"], root=node.root)
