# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one way in which this collection starts a process."""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import typing as t

from .._errors import CommandFailed, Unsupported

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# The exit status of coreutils' timeout(1) for a command that took too long.
TIMED_OUT = 124
_ENVIRONMENT = {"LC_ALL": "C", "LANGUAGE": "C", "DEBIAN_FRONTEND": "noninteractive"}
# Seconds in which the end of a command is noticed, where its streams don't end with it.
_PATIENCE = 1.0
_CHUNK = 65536
# How often the pipes are read after a process has ended: for more than they hold, which is 1 MiB at most.
_LATE_READS = 17


class Output(t.NamedTuple):
    """What a process left: exit status and the two streams as text."""

    rc: int
    stdout: str
    stderr: str


def failure(argv: t.Sequence[str], output: Output) -> CommandFailed:
    """The error for an unexpected exit status; it quotes the command and its output."""
    text = (output.stderr or output.stdout).strip()
    return CommandFailed("%s failed with exit status %d: %s" % (" ".join(argv), output.rc, text), cmd=list(argv), **output._asdict())


class Runner(t.Protocol):
    """Starts `argv`; `ok=None` accepts every exit status. Tests pass a fake."""

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output: ...

    def has(self, tool: str) -> bool:
        """Whether the tool is installed."""


def first_tool(run: Runner, names: t.Iterable[str]) -> str:
    """The first of these tools that is installed; "" where there is none."""
    return next((name for name in names if run.has(name)), "")


class ModuleRunner:
    """The Runner of a real module: C locale, no questions of packages, no shell, a time limit, errors that quote the command."""

    def __init__(self, module: AnsibleModule) -> None:
        self._module = module

    def _find(self, tool: str) -> str | None:
        # Looked up each time: tools come and go with the packages that a module installs or removes.
        path: str | None = self._module.get_bin_path(tool, opt_dirs=["/usr/sbin", "/sbin"])
        return path

    def has(self, tool: str) -> bool:
        return self._find(tool) is not None

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        path = self._find(argv[0])
        if path is None:
            raise Unsupported("%s is not installed on this node" % argv[0])
        # timeout(1), of coreutils, also ends what the command has started.
        output = _run(["timeout", "--kill-after=5", str(timeout), path, *argv[1:]])
        if output.rc == -signal.SIGKILL:
            # It ends so where the command ignores SIGTERM.
            output = output._replace(rc=TIMED_OUT)
        if output.rc == TIMED_OUT and (ok is None or TIMED_OUT not in ok):
            raise CommandFailed("%s did not end within %g s" % (" ".join(argv), timeout), cmd=list(argv), **output._asdict())
        if ok is not None and output.rc not in ok:
            raise failure(argv, output)
        return output


def _run(argv: t.Sequence[str]) -> Output:
    """Run a process to its end. Fit for threads.

    AnsibleModule.run_command is not: it has a preexec_fn. It also waits a second more whenever a process ends at the wrong moment.
    """
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **_ENVIRONMENT})
    with process, selectors.DefaultSelector() as selector:
        said = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream is not None}
        for stream in said:
            selector.register(stream, selectors.EVENT_READ)
        late = 0
        while selector.get_map() and late < _LATE_READS:
            # First the poll, then the select: all that an ended process has written is in the pipes by then.
            ended = process.poll() is not None
            ready = selector.select(0 if ended else _PATIENCE)
            if ended and not ready:
                # A daemon that the command has left behind holds the streams, perhaps for as long as it runs.
                break
            late += ended
            for key, _events in ready:
                chunk = os.read(key.fd, _CHUNK)
                if chunk:
                    said[t.cast("t.Any", key.fileobj)] += chunk
                else:
                    selector.unregister(key.fileobj)
        return Output(process.wait(), *(text.decode("utf-8", "replace") for text in said.values()))


class PlainRunner(ModuleRunner):
    """The Runner of a program that is no module."""

    def __init__(self) -> None:
        self._path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

    def _find(self, tool: str) -> str | None:
        return shutil.which(tool, path=self._path)
