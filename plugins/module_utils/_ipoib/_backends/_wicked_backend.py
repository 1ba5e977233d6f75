# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""wicked as a back-end."""

from __future__ import annotations

import typing as t

from .._backend import UP_TIMEOUT, Backend, Driver, Evidence, Files, Interfaces
from .._found import Claim, Found, Presence, Standing
from .._wanted import FULL_MEMBER
from . import _wicked, _wicked_reader

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from .._identity import Identity
    from .._todo import IpoibPlan


STATUS = ("wicked", "ifstatus", "--brief", "all")
# The states of an interface that is not set up by its file. `setup-in-progress` is not among them: it lasts as long as there is no carrier.
REFUSALS = frozenset(("device-unconfigured", "device-not-running"))


def parse_status(stdout: str) -> dict[str, Standing]:
    """Parse the output of `STATUS`: one `ib0             up` per line. Written after client/ifstatus.c of wicked 0.6, not from recorded output."""
    rows = [line.split() for line in stdout.splitlines() if line[:1].strip()]
    return {row[0]: Standing(row[1]) for row in rows if len(row) == 2}


class WickedDriver(Driver):
    """wicked sets modes and creates children and bonds itself."""

    kernel_first = False

    def give_up(self, names: t.Sequence[str], found: Found) -> None:
        there = [name for name in names if name in found.netdevs]
        if there and self._run.has("wicked"):
            self._run(["wicked", "ifdown", *there], ok=None, timeout=UP_TIMEOUT)

    def give_back(self, names: t.Mapping[str, str], found: Found) -> None:
        self._run(["wicked", "ifup", *names], timeout=UP_TIMEOUT)

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        # A change may concern only the file of an interface's routes.
        late = {each.name for each in todo.live if any(_wicked.path_of(each.name, kind) in changed for kind in _wicked.KINDS)}
        names = self._with_ports(todo, todo.touched | late)
        if names:
            self._run(["wicked", "ifreload", *names], timeout=UP_TIMEOUT)

    @staticmethod
    def _with_ports(todo: IpoibPlan, names: t.Collection[str]) -> list[str]:
        """Those of the interfaces that are configured now, with bonds in place of their ports."""
        late = {interface.master or interface.name for interface in todo.live if interface.name in names}
        return [interface.name for interface in todo.live if interface.name in late]

    def nudge(self, again: IpoibPlan, found: Found) -> None:
        names = self._with_ports(again, again.touched | again.dissenting)
        if names:
            self._run(["wicked", "ifup", *names], ok=None, timeout=UP_TIMEOUT)


class Wicked(Backend):
    name = "wicked"
    format = _wicked
    reader = _wicked_reader
    driver = WickedDriver
    see = "'wicked show all' and 'journalctl -u wickedd'"
    service = "wickedd.service"
    tool = "wicked"
    patterns = _wicked.PATTERNS
    strips = True

    def claim(self, evidence: Evidence) -> Claim | None:
        return Claim("%s is active" % self.service, 2) if evidence.is_active(self.service) else None

    def look(self, run: Runner, evidence: Evidence, root: str) -> Presence:
        found = self.recognise(evidence)
        if found.claim is None or found.missing:
            return found
        # The exit status covers all interfaces.
        return found._replace(standings=parse_status(run(STATUS, ok=None, timeout=20).stdout))

    def dissent(self, name: str, found: Found) -> str:
        if name in found.netdevs and found.netdevs[name].master:
            # The bond has brought up the port and holds the configuration.
            return ""
        state = self.presence(found).standings.get(name, Standing()).state
        return state if state in REFUSALS else ""

    def retry(self, name: str, found: Found) -> str:
        return "wicked ifup %s" % name

    def faults(self, interfaces: Interfaces, found: Found) -> tuple[str, ...]:
        # It accepts only P_Keys from 0x8000 on.
        return tuple(
            "%s: P_Key 0x%04x is a limited membership, which wicked refuses; declare 0x%04x" % (interface.name, interface.pkey, interface.pkey | FULL_MEMBER)
            for interface in interfaces
            if interface.is_limited
        )

    def unsaid(self, interface: Identity, path: str, files: Files, *, names: t.Mapping[str, str]) -> tuple[str, ...]:
        return _wicked.unsaid(path, files[path], names)

    def interrupts(self, found: Found) -> bool:
        # What `wicked ifreload` does to a running interface whose file is replaced is not known: no wicked was at hand.
        return True

    def shell_resume(self, names: t.Sequence[str], found: Found) -> list[str]:
        held = [name for name in names if name in (self.held(found) or ())]
        return ["wicked ifreload %s" % " ".join(held)] if held else []


WICKED = Wicked()
