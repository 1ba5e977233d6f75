# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`sminfo`: the subnet manager that a port sees. Grammar from infiniband-diags, `sminfo.c`."""

from __future__ import annotations

import re
import typing as t

from .._errors import UnexpectedOutput
from .._foreign import decimal, hexadecimal
from .._host._run import Runner, failure

STATES = {0: "NOTACT", 1: "DISCOVER", 2: "STANDBY", 3: "MASTER"}
STANDBY, MASTER = 2, 3
# The tools of infiniband-diags that query subnet managers and their hosts.
TOOLS = ("sminfo", "saquery", "smpquery")

_LINE = re.compile(
    r"^sminfo: sm lid (?P<lid>[0-9]+) sm guid 0x(?P<guid>[0-9a-fA-F]{1,16}), activity count (?P<activity>[0-9]+) priority (?P<priority>[0-9]+)"
    r" state (?P<state>[0-9]+)(?: |$)",
    re.M,
)

# No answer: the fabric has no subnet manager, or it has ended. Everything else (no HCA, no umad) is a failure.
_NOBODY = re.compile(r"iberror: (?:failed: query|query failed)")


class SmInfo(t.NamedTuple):
    """One subnet manager as it describes itself."""

    lid: int
    guid: str
    """GUID of the port that it is bound to, "0x" and 16 lower-case digits."""
    activity: int
    """Increases while the subnet manager is alive."""
    priority: int
    state: int
    """A key of STATES."""

    @property
    def is_master(self) -> bool:
        return self.state == MASTER

    @property
    def is_standby(self) -> bool:
        return self.state == STANDBY

    @property
    def state_name(self) -> str:
        return STATES.get(self.state, "unknown state %d" % self.state)

    def details(self) -> dict[str, t.Any]:
        """The details in the shape that modules return."""
        return {"port_guid": self.guid, "lid": self.lid, "priority": self.priority, "state": self.state_name, "activity": self.activity}


def masters(managers: t.Iterable[SmInfo] | None) -> list[str]:
    """Port GUIDs of the managers that are master."""
    return [manager.guid for manager in managers or () if manager.is_master]


def parse(stdout: str) -> SmInfo:
    """Parse the one line that sminfo prints. Raises UnexpectedOutput."""
    match = _LINE.search(stdout)
    if match is None:
        raise UnexpectedOutput("sminfo printed %r, which is not a line about a subnet manager" % stdout.strip())
    lid, activity, priority, state = (decimal(match.group(name), 0) for name in ("lid", "activity", "priority", "state"))
    return SmInfo(lid, "0x%016x" % hexadecimal(match.group("guid"), 0), activity, priority, state)


def ask(run: Runner, argv: t.Sequence[str], absent: re.Pattern[str]) -> str | None:
    """The output of a program of infiniband-diags; None where its error matches `absent`. Raises CommandFailed for any other error."""
    output = run(argv, ok=None, timeout=20)
    if output.rc == 0:
        return output.stdout
    if absent.search(output.stdout + output.stderr):
        return None
    raise failure(argv, output)


def query(run: Runner, device: str, port: int, *, lid: int | None = None) -> SmInfo | None:
    """The subnet manager that configured this port (or the one at `lid`); None if there is no answer.

    Needs root, `ib_umad` and a port in state INIT or better; raises CommandFailed otherwise.
    """
    stdout = ask(run, ["sminfo", "-C", device, "-P", str(port), *([] if lid is None else [str(lid)])], _NOBODY)
    return None if stdout is None else parse(stdout)
