# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""How a back-end is driven once its files are written. A driver acts with the tools that it is given."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._kernel import Kernel
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import IpoibPlan

# How long bringing up an interface may take, in seconds.
UP_TIMEOUT = 120


class Tools(t.NamedTuple):
    """What drivers act with."""

    run: Runner
    kernel: Kernel
    put_aside: t.Callable[[], None] = lambda: None
    put_back: t.Callable[[], None] = lambda: None
    """Those of all back-ends, see Backend."""


class Driver:
    """Drives one back-end. Every step is safe to repeat. The driver of no back-end leaves everything to the kernel part."""

    kernel_first = True
    """Modes, MTUs and bonds are set before the back-end is told, because it can't, or needs them so."""
    makes_bonds = True
    """The back-end makes bonds itself, so only those that exist already are changed before it is told."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._run = tools.run
        self._kernel = tools.kernel

    def give_up(self, names: t.Sequence[str], found: Found) -> None:
        """Let go of these interfaces, while the files that describe them still exist."""

    def forget(self, paths: t.Sequence[str]) -> None:
        """Files of this back-end have gone, and it is not the one in use."""

    def finish(self) -> None:
        """Carry out the `leftover` of the back-end."""

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        """Make the interfaces what the files say. `changed` are the paths that were written or removed."""

    def busy(self, found: Found) -> bool:
        """Whether it is at work on an interface, so that telling it again would make it start over."""
        return False

    def nudge(self, again: IpoibPlan, found: Found) -> None:
        """What to try once more when something is left to do after a while."""
