# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts of a node's state that several concerns read. `Node.once` reads each only once."""

from __future__ import annotations

import typing as t

from .._tools import _ip
from ._ports import read_ports
from ._stack import read_stack

if t.TYPE_CHECKING:
    from .._host._node import Node
    from ._ports import Port
    from ._stack import Stack


def ports(node: Node) -> tuple[Port, ...]:
    return read_ports(node.root)


def links(node: Node) -> t.Mapping[str, _ip.Link]:
    return _ip.read_links(node.run)


def stack(node: Node) -> Stack:
    return read_stack(node.run, node.root)


def seen_stack(node: Node, _hints: t.Mapping[str, t.Any]) -> Stack:
    """The look of the concern ofed. The module has a look of its own, which includes packages and users of the driver."""
    return node.once(stack)
