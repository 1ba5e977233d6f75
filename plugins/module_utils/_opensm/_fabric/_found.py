# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the fabric of a port: the one place where subnet managers are asked who and what they are. Reads only, and never waits."""

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

    Each part takes a process, so it is asked when a plan reads it, and an attribute once. It raises RdmaError where the fabric can't be asked.
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
        """The one that answers, if it is master."""
        return self.answer if self.answer is not None and self.answer.is_master else None

    @functools.cached_property
    def managers(self) -> tuple[SmInfo, ...] | None:
        """All that the master knows, with those that have ended since it last looked at all ports; None while no master answers."""
        return _saquery.sm_records(self._run, self.port.device, self.port.port) if self.master is not None else None

    @functools.cached_property
    def is_alive(self) -> bool:
        """Whether the one that answers works: then it counts each of its datagrams, and the answer to a second question is one."""
        after = _sminfo.query(self._run, self.port.device, self.port.port)
        before = self.answer
        return after is not None and (before is None or after.guid != before.guid or after.activity != before.activity)

    def reply(self, lid: int) -> SmInfo | None:
        """What the subnet manager at a LID says of itself; None where none answers there."""
        return _sminfo.query(self._run, self.port.device, self.port.port, lid=lid)

    def description(self, lid: int) -> str:
        """The name that the node at a LID has for itself; "" where it does not answer."""
        return _smpquery.answer(self._run, self.port.device, self.port.port, lid=lid) or ""


def see(run: Runner, port: Port, root: str = "/") -> FabricFound:
    """One look at the fabric of a port."""
    return FabricFound(run, port, root)


def can_ask(run: Runner) -> bool:
    """Whether the tools are there that ask a fabric for its subnet managers."""
    return run.has("sminfo") and run.has("saquery")
