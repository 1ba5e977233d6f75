# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a subnet manager starts: wait until the fabric has exactly one master, and it is the one the inventory wants.

The fabrics of a host are waited for together, so that no fabric is left waiting for another.
"""

from __future__ import annotations

import math
import time
import typing as t

from ..._errors import RdmaError
from ..._host._turn import look_until
from ..._host._units import Systemd
from .._fabrics import MAX_PRIORITY
from ._found import see
from ._judge import Misplaced
from ._plan import plan

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from .._wanted import Bound
    from ._found import FabricFound

INTERVAL_SECONDS = 0.5
# After this fraction of the timeout, the master is told about an instance that it does not know; again after each further fraction.
PATIENCE = 0.15


class Settled(t.NamedTuple):
    """A fabric that is managed as declared."""

    fabric: FabricFound
    note: str
    """What to report of it, in words."""


class _Wait:
    """The wait for the fabric of one instance."""

    def __init__(self, bound: Bound, *, timeout: float, new: bool) -> None:
        self.bound, self.new, self.timeout = bound, new, timeout
        self.end: Settled | RdmaError | None = None
        # Standbys that start at the same time have different priorities, so their announcements do not coincide.
        self._patience = timeout * PATIENCE * (1 + (MAX_PRIORITY - bound.instance.priority) / 10)
        self._deadline = time.monotonic() + timeout
        self._due, self._told = time.monotonic() + self._patience, 0

    def look(self, run: Runner, announce: t.Callable[[str, int], None]) -> Settled | None:
        """One look; None while the fabric is not settled. Raises RdmaError where it can't settle or the time is up."""
        (instance, port), fabric, in_time = self.bound, see(run, self.bound.port), time.monotonic() < self._deadline
        try:
            left = plan(self.bound, fabric, new=self.new and in_time)
        except Misplaced:
            # The wrong cable could not be detected before a subnet manager ran. The instance must not run in another fabric.
            if self.new:
                Systemd(run).disable_and_stop(instance.unit)
            raise
        if not left.wait:
            return Settled(fabric, left.note)
        if not in_time:
            raise RdmaError(
                "fabric %s is not managed as declared after %g s: %s (port %s, state %s, port GUID %s). Next: journalctl -u %s"
                % (instance.fabric, self.timeout, left.wait, port.name, fabric.now.state, port.port_guid, instance.unit)
            )
        if left.unknown and self._due <= time.monotonic():
            announce(instance.unit, self._told)
            self._due, self._told = time.monotonic() + self._patience, self._told + 1
        return None


def settle(
    run: Runner, bounds: t.Sequence[Bound], *, timeout: float, running: t.Collection[str], announce: t.Callable[[str, int], None]
) -> list[Settled | RdmaError]:
    """Look until each fabric has one master and each instance its place. Returns one result per instance, in order; an error says what was seen last.

    Of two hosts whose cables are swapped, the outranked one leaves the fabric at once, whatever it still waits for on another fabric.
    `running`: the units that ran before. `announce` tells the master about a unit; its second argument is the number of announcements so far.
    """
    waits = [_Wait(bound, timeout=timeout, new=bound.instance.unit not in running) for bound in bounds]

    def look() -> list[Settled | RdmaError]:
        for wait in waits:
            try:
                wait.end = wait.end or wait.look(run, announce)
            except RdmaError as exc:
                wait.end = exc
        return [wait.end for wait in waits if wait.end is not None]

    # Each wait ends with an error of its own when its time is up.
    return look_until(look, lambda ended: len(ended) == len(waits), patience=math.inf, pause=INTERVAL_SECONDS)
