# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What an applier asks of a network stack: the one interface of the files _apply_*.py."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._kernel import Kernel

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision

# How long bringing up an interface may take.
UP_TIMEOUT = 120


class Tools(t.NamedTuple):
    """What drivers act with."""

    run: Runner
    kernel: Kernel
    look: t.Callable[[], Look]
    """Observe the node anew."""
    root: str = "/"


class Driver:
    """A network stack as an applier drives it. Everything is safe to repeat; each method says what it is left to do."""

    # Modes, MTUs and bonds are set before the stack is told, because it can't, or needs them so.
    kernel_first = True
    # The stack makes bonds itself, so only those that are there already are changed before it is told.
    makes_bonds = True

    def __init__(self, tools: Tools) -> None:
        self._run = tools.run
        self._kernel = tools.kernel
        self._look = tools.look
        self._root = tools.root

    def give_up(self, names: t.Sequence[str], found: Look) -> None:
        """Let go of these interfaces, as long as the files are there which say what they were."""

    def forget(self, paths: t.Sequence[str]) -> None:
        """Files of this stack have gone, and it is not the one in use any more."""

    def apply(self, decision: Decision, changed: t.Sequence[str], found: Look) -> None:
        """Make the interfaces be what the files say. C(changed) are the paths that were written or removed."""

    def busy(self, found: Look) -> bool:
        """Is it at work on an interface, so that being told again would make it begin again?"""
        return False

    def nudge(self, again: Decision, found: Look) -> None:
        """What to try once more when something is left to do after a while."""
