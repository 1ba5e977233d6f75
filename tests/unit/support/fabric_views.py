# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looks at a fabric that were taken: plain data for the plans."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output, Runner
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._found import FabricFound
from ansible_collections.rdma.ofed.plugins.module_utils._tools._sminfo import SmInfo


class View(t.NamedTuple):
    """What one look tells."""

    state: str = ""
    phys_state: str = ""
    answer: SmInfo | None = None
    managers: tuple[SmInfo, ...] | None = None


class Silent:
    """Asks nothing: a plan that reads more than a look has fails."""

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        raise AssertionError("asked: %s" % " ".join(argv))


def seen(port: Port, view: View, run: Runner | None = None, *, replies: t.Sequence[SmInfo] | None = None) -> FabricFound:
    """The look with these parts. `run` answers what is not in them; `replies`: of the subnet managers that answer themselves, none else does."""
    found = FabricFound(run or Silent(), port)
    vars(found).update(now=port._replace(state=view.state, phys_state=view.phys_state), answer=view.answer, managers=view.managers)
    if replies is not None:
        vars(found).update(reply={each.lid: each for each in replies}.get)
    return found
