# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session with the firmware of one adapter through mlxconfig or mstconfig."""

from __future__ import annotations

import time
import typing as t

from ..._errors import CommandFailed, RdmaError, UnexpectedOutput, Unsupported
from ..._tools import _mlxconfig as mlxconfig

if t.TYPE_CHECKING:
    from ..._host._run import Output, Runner
    from ..._tools._mlxconfig import Conf, Row

# With a semaphore left by a dead process, the tool gives up only after up to 35 s.
QUERY_TIMEOUT = 120.0
SET_TIMEOUT = 300.0
# Seconds before each retry while the card is busy.
WAITS = (1.0, 3.0)

_HELD = "the semaphores of the card are held (by another tool that is running, or one that was killed)%s: repeat the task later; a cold boot frees them"
_HINTS = (
    (
        "failed to open the device",
        "the task must run as root; kernel lockdown (Secure Boot) forbids it too, the semaphores of the card may be held, or it has left the PCI bus",
    ),
    ("failed to identify the device", "the card may have left the PCI bus: see dmesg; a cold boot brings it back. Or the tool is too old for the card"),
    ("me_icmd_status_cr_fail", "another process uses the card, perhaps one of an interrupted run; repeat the task later"),
    ("cannot access nv register", "the card is locked: see flint hw_access, or the owner of the DPU"),
    ("livefish", "the card is in recovery mode: burn its firmware first"),
    ("erase count", "the card's flash accepts no further writes now"),
    ("nv access registers are supported", _HELD % ", or its firmware still starts"),
    ("semaphore", _HELD % ""),
)
_NOTHING_TO_SAVE = "nothing to backup"


class Missing(RdmaError):
    """The adapter or the tool lacks some of the queried parameters."""


def find_tools(run: Runner, choice: str) -> tuple[str, ...]:
    """The programs to try, best first: that of MFT knows the newest cards. `choice` is `auto` or one of TOOLS."""
    found = tuple(name for name in mlxconfig.TOOLS if choice in ("auto", name) and run.has(name))
    if not found:
        wanted = " or ".join(mlxconfig.TOOLS) if choice == "auto" else choice
        raise Unsupported("%s is not installed on this node: install the package mstflint (mstconfig) or MFT (mlxconfig)" % wanted)
    return found


def _hint(texts: t.Sequence[str]) -> str:
    """What to do about a card that can't be accessed; "" where the card is not the cause."""
    return next((hint for phrase, hint in _HINTS if any(phrase in text.lower() for text in texts)), "")


def _said(output: Output) -> str:
    texts = mlxconfig.errors_of(output.stdout) or [(output.stderr or output.stdout).strip() or "exit status %d" % output.rc]
    hint = _hint(texts)
    return "; ".join(texts) + (" (%s)" % hint if hint else "")


class Session:
    """One adapter; `device` is the PCI address of its first function, `title` its name in errors. Not thread-safe."""

    def __init__(self, run: Runner, tools: t.Sequence[str], device: str, *, title: str = "") -> None:
        self._run = run
        self._tools = tools
        self.device = device
        self.title = title or device
        self.tool = tools[0]

    def _ask(self, argv: t.Sequence[str], timeout: float) -> Output:
        """Run a command, and retry while the card is busy. That is safe: a refused access changes nothing, and a set is idempotent."""
        for wait in WAITS:
            output = self._run(argv, ok=None, timeout=timeout)
            if output.rc in (mlxconfig.DONE, mlxconfig.ABORTED) or not mlxconfig.says(mlxconfig.errors_of(output.stdout), mlxconfig.BUSY):
                return output
            time.sleep(wait)
        return self._run(argv, ok=None, timeout=timeout)

    def _failed(self, doing: str, argv: t.Sequence[str], output: Output) -> CommandFailed:
        return CommandFailed("%s: %s: %s" % (self.title, doing, _said(output)), cmd=list(argv), rc=output.rc, stdout=output.stdout, stderr=output.stderr)

    def _rows(self, output: Output) -> dict[str, Row]:
        answer = mlxconfig.parse_query(output.stdout)
        if answer.device != self.device and (answer.device or not answer.rows):
            raise UnexpectedOutput("%s: %s answered for another adapter: %s" % (self.title, self.tool, answer.device or "none"))
        return dict(answer.rows)

    def query(self, names: t.Sequence[str] = ()) -> dict[str, Row]:
        """The three values of some parameters, or of all. Raises Missing where a named parameter does not exist."""
        argv = mlxconfig.query_command(self.tool, self.device, names)
        output = self._ask(argv, QUERY_TIMEOUT)
        if output.rc == mlxconfig.DONE:
            return self._rows(output)
        errors = mlxconfig.errors_of(output.stdout)
        for tool in self._tools:
            if tool != self.tool and mlxconfig.says(errors, mlxconfig.OTHER_TOOL):
                other = self._ask(mlxconfig.query_command(tool, self.device, names), QUERY_TIMEOUT)
                if other.rc == mlxconfig.DONE:
                    self.tool = tool
                    return self._rows(other)
        if mlxconfig.says(errors, mlxconfig.MISSING):
            raise Missing("; ".join(errors))
        raise self._failed("%s can't query it" % self.tool, argv, output)

    def confs(self) -> dict[str, Conf]:
        """What the tool's database knows; empty where the tool can't tell."""
        return mlxconfig.parse_confs(self._ask(mlxconfig.confs_command(self.tool, self.device), QUERY_TIMEOUT).stdout)

    def rehearse(self, assignments: t.Mapping[str, str]) -> tuple[dict[str, str], str]:
        """Dry-run a set: return the new values, or why the tool refuses them. An inaccessible card does not count as a refusal."""
        argv = mlxconfig.set_command(self.tool, self.device, assignments, dry_run=True)
        output = self._ask(argv, QUERY_TIMEOUT)
        if output.rc != mlxconfig.ABORTED and _hint(mlxconfig.errors_of(output.stdout)):
            raise self._failed("%s can't determine whether it accepts the values to be set" % self.tool, argv, output)
        if output.rc != mlxconfig.ABORTED:
            return {}, _said(output)
        return {row.name: row.new for row in mlxconfig.parse_query(output.stdout).rows.values() if row.new is not None}, ""

    def set(self, assignments: t.Mapping[str, str]) -> None:
        """Write values for the next start. On failure any part of them may have been written."""
        argv = mlxconfig.set_command(self.tool, self.device, assignments, dry_run=False)
        output = self._ask(argv, SET_TIMEOUT)
        if output.rc != mlxconfig.DONE:
            raise self._failed("%s failed to set %s" % (self.tool, " ".join(argv[argv.index("set") + 1 :])), argv, output)

    def backup(self, path: str) -> bool:
        """Save the values that are set; False where all have their defaults and there is nothing to save."""
        argv = mlxconfig.backup_command(self.tool, self.device, path)
        output = self._ask(argv, SET_TIMEOUT)
        if output.rc == mlxconfig.DONE:
            return True
        if any(_NOTHING_TO_SAVE in text.lower() for text in mlxconfig.errors_of(output.stdout)):
            return False
        raise self._failed("%s can't save its configuration, and nothing was set" % self.tool, argv, output)
