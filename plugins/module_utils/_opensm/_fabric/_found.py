# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the fabric of a port: the only place that queries subnet managers for their identity and state. Read-only; never waits."""

from __future__ import annotations

import functools
import typing as t

from ..._facts._ports import Port, read_port
from ..._tools import _saquery, _sminfo, _smpquery

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from ..._tools._sminfo import SmInfo


class FabricFound:
    """What a port sees of its fabric in one look.

    Each attribute takes a process, so it is queried when a plan first reads it, and only once. Raises RdmaError where the fabric can't be queried.
    """

    def __init__(self, run: Runner, port: Port, root: str = "/") -> None:
        self.port, self._run, self._root = port, run, root

    @functools.cached_property
    def now(self) -> Port:
        """The port itself. It is `ACTIVE` once a subnet manager has configured it."""
        return read_port(self._root, self.port.device, str(self.port.port))

    @functools.cached_property
    def answer(self) -> SmInfo | None:
        """The subnet manager that answers the port, in any state."""
        return _sminfo.query(self._run, self.port.device, self.port.port)

    @property
    def master(self) -> SmInfo | None:
        """The subnet manager that answers, if it is the master."""
        return self.answer if self.answer is not None and self.answer.is_master else None

    @functools.cached_property
    def managers(self) -> tuple[SmInfo, ...] | None:
        """All subnet managers that the master knows, including those that ended since its last heavy sweep; None while no master answers."""
        return _saquery.sm_records(self._run, self.port.device, self.port.port) if self.master is not None else None

    @functools.cached_property
    def is_alive(self) -> bool:
        """Whether the subnet manager that answers is alive: a live one increments its activity counter between two queries."""
        after = _sminfo.query(self._run, self.port.device, self.port.port)
        before = self.answer
        return after is not None and (before is None or after.guid != before.guid or after.activity != before.activity)

    def reply(self, lid: int) -> SmInfo | None:
        """The SMInfo of the subnet manager at a LID; None where none answers."""
        return _sminfo.query(self._run, self.port.device, self.port.port, lid=lid)

    def description(self, lid: int) -> str:
        """The node description of the node at a LID; "" where it does not answer."""
        return _smpquery.answer(self._run, self.port.device, self.port.port, lid=lid) or ""


def see(run: Runner, port: Port, root: str = "/") -> FabricFound:
    """One look at the fabric of a port."""
    return FabricFound(run, port, root)


def can_ask(run: Runner) -> bool:
    """Whether the tools that query a fabric for its subnet managers are installed."""
    return run.has("sminfo") and run.has("saquery")
