# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The looks of all concerns in one execution on a node."""

from __future__ import annotations

import functools
import typing as t

from .._check._live import Scope, scope_of
from .._check._live_look import look as live
from .._check._live_look import read_parts
from .._distro._registry import by_name, installed_packages
from .._errors import RdmaError
from .._facts._machine import IDENTITY_FILES, read_os
from .._facts._sysfs import attribute
from .._gpudirect._look import look as gpudirect
from .._ipoib._look import condensed, look_whole
from .._kmod._look import look_for as kernel_modules
from .._opensm._look import look as opensm
from .._record import encode

if t.TYPE_CHECKING:
    from .._check._live import Live
    from .._host._run import Runner
    from .._ipoib._found import Found as Interfaces

    Look = t.Callable[["Node", t.Mapping[str, t.Any]], t.Any]


class Node:
    """Where the looks look."""

    def __init__(self, run: Runner, release: str, environ: t.Mapping[str, str], root: str = "/") -> None:
        """`release` is that of the running kernel."""
        self.run, self.release, self.environ, self.root = run, release, environ, root

    @functools.cached_property
    def interfaces(self) -> Interfaces:
        """With all files whole. Two concerns need them, and they are read once."""
        return look_whole(self.run, self.environ, self.root)


def _live(node: Node, scope: Scope) -> Live:
    parts = read_parts(node.run, node.interfaces if scope.interfaces else None, node.root)
    return live(node.run, scope, parts, root=node.root)


LOOKS: t.Mapping[str, Look] = {
    "identity": lambda node, _hints: [attribute(node.root, path) for path in IDENTITY_FILES],
    "packages": lambda node, hints: installed_packages(node.run, by_name(read_os(node.root).family), hints["names"], root=node.root),
    "kernel_modules": lambda node, hints: kernel_modules(node.run, node.release, hints, root=node.root),
    "opensm": lambda node, hints: opensm(node.run, node.root, public=True, manages=hints["manages"]),
    "ipoib": lambda node, hints: condensed(node.interfaces, hints["names"]),
    "gpudirect": lambda node, hints: gpudirect(node.run, node.release, root=node.root),
    "node_check": lambda node, hints: _live(node, scope_of(hints)),
}


def look_at(node: Node, wanted: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """What the looks of the `wanted` concerns find, each with its hints.

    A concern that can't be looked at is left out: its module visits the node and reports why.
    """
    found = {}
    for concern, hints in wanted.items():
        try:
            found[concern] = encode(LOOKS[concern](node, hints))
        except (RdmaError, OSError):
            continue
    return found
