# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The looks of all concerns in one module execution on a node."""

from __future__ import annotations

import typing as t

from .._concerns._looks import LOOKS
from .._errors import RdmaError
from .._facts._machine import IDENTITY_FILES
from .._facts._sysfs import attribute
from .._record import encode

if t.TYPE_CHECKING:
    from .._host._node import Node

IDENTITY = "identity"
"""A look besides those of the concerns: what identifies the machine."""


def look_at(node: Node, wanted: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """The results of the looks of the `wanted` concerns, each with its hints.

    A concern whose look fails is left out: its module runs on the node and reports the reason.
    """
    found: dict[str, t.Any] = {}
    for concern, hints in wanted.items():
        try:
            found[concern] = [attribute(node.root, path) for path in IDENTITY_FILES] if concern == IDENTITY else encode(LOOKS[concern](node, hints))
        except (RdmaError, OSError):
            continue
    return found
