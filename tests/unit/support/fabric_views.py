# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prepared looks at a fabric: plain data for the plans."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output, Runner
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._found import FabricFound
from ansible_collections.rdma.ofed.plugins.module_utils._tools._sminfo import SmInfo


class View(t.NamedTuple):
    """Result of one look."""

    state: str = ""
    phys_state: str = ""
    answer: SmInfo | None = None
    managers: tuple[SmInfo, ...] | None = None


class Silent:
    """Refuses all queries: a plan that needs more than the look fails."""

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        raise AssertionError("asked: %s" % " ".join(argv))


def seen(port: Port, view: View, run: Runner | None = None, *, replies: t.Sequence[SmInfo] | None = None) -> FabricFound:
    """Return a look with these parts. `run` answers for missing parts; `replies` are the only subnet managers that answer themselves."""
    found = FabricFound(run or Silent(), port)
    vars(found).update(now=port._replace(state=view.state, phys_state=view.phys_state), answer=view.answer, managers=view.managers)
    if replies is not None:
        vars(found).update(reply={each.lid: each for each in replies}.get)
    return found
