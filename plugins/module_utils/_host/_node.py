# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The node that the looks of a run examine."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ._run import Runner

_T = t.TypeVar("_T")


class Node:
    """Access to the examined node."""

    def __init__(self, run: Runner, release: str, environ: t.Mapping[str, str], root: str = "/", *, image: bool = False) -> None:
        """`release` is that of the running kernel, or, for the tree of an image, that of the newest one in it."""
        self.run, self.release, self.environ, self.root, self.image = run, release, environ, root, image
        self._read: dict[t.Any, t.Any] = {}

    def once(self, look: t.Callable[[Node], _T]) -> _T:
        """The cached result of a function of the node, which several concerns need."""
        if look not in self._read:
            self._read[look] = look(self)
        found: _T = self._read[look]
        return found


Look = t.Callable[[Node, t.Mapping[str, t.Any]], t.Any]
"""Takes a node and the hints of the concern; returns what is found."""
