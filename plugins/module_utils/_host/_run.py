# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The only place in this collection that starts processes."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import typing as t

from .._errors import CommandFailed, Unsupported

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# This takes the place of run_command.
# pylint: disable=ansible-bad-function

# The exit status of timeout(1) from coreutils after a timeout.
TIMED_OUT = 124
_ENVIRONMENT = {"LC_ALL": "C", "LANGUAGE": "C", "DEBIAN_FRONTEND": "noninteractive"}
# Interval in seconds at which the end of a command is detected, where its streams don't end with it.
_PATIENCE = 1.0
_CHUNK = 65536
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.@-]{0,255}\Z")
# Number of reads from the pipes after a process has ended: enough for their maximum content of 1 MiB.
_LATE_READS = 17


class Output(t.NamedTuple):
    """The result of a process: exit status, and both streams as text."""

    rc: int
    stdout: str
    stderr: str


def failure(argv: t.Sequence[str], output: Output) -> CommandFailed:
    """The error for an unexpected exit status, with the command and its output."""
    text = (output.stderr or output.stdout).strip()
    return CommandFailed("%s failed with exit status %d: %s" % (" ".join(argv), output.rc, text), cmd=list(argv), **output._asdict())


def is_user_name(name: str) -> bool:
    """Whether a user may have this name. It is no option of a command then."""
    return _USER.match(name) is not None


def session_argv(user: str, argv: t.Sequence[str]) -> list[str]:
    """A command in a login session of another user, with the limits that PAM gives to one. It needs root."""
    return ["runuser", "--login", "--shell=/bin/sh", "--command=" + " ".join(map(shlex.quote, argv)), user]


class Runner(t.Protocol):
    """Runs `argv`; `ok=None` accepts every exit status. Tests pass a fake."""

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output: ...

    def has(self, tool: str) -> bool:
        """Whether the tool is installed."""


def first_tool(run: Runner, names: t.Iterable[str]) -> str:
    """The first of these tools that is installed; "" where none is."""
    return next((name for name in names if run.has(name)), "")


class ModuleRunner:
    """The Runner of a real module: C locale, no prompts of packages, no shell, a time limit, errors that quote the command."""

    def __init__(self, module: AnsibleModule) -> None:
        self._module = module

    def _find(self, tool: str) -> str | None:
        # Looked up every time: the module installs and removes packages with tools.
        path: str | None = self._module.get_bin_path(tool, opt_dirs=["/usr/sbin", "/sbin"])
        return path

    def has(self, tool: str) -> bool:
        return self._find(tool) is not None

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        path = self._find(argv[0])
        if path is None:
            raise Unsupported("%s is not installed on this node" % argv[0])
        # timeout(1), from coreutils, also ends the child processes of the command.
        output = _run(["timeout", "--kill-after=5", str(timeout), path, *argv[1:]])
        if output.rc == -signal.SIGKILL:
            # The exit status if the command ignores SIGTERM.
            output = output._replace(rc=TIMED_OUT)
        if output.rc == TIMED_OUT and (ok is None or TIMED_OUT not in ok):
            raise CommandFailed("%s did not end within %g s" % (" ".join(argv), timeout), cmd=list(argv), **output._asdict())
        if ok is not None and output.rc not in ok:
            raise failure(argv, output)
        return output


def _run(argv: t.Sequence[str]) -> Output:
    """Run a process to its end. Thread-safe.

    AnsibleModule.run_command is not, because of its preexec_fn. It may also wait a second longer than the process runs.
    """
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **_ENVIRONMENT})
    with process, selectors.DefaultSelector() as selector:
        said = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream is not None}
        for stream in said:
            selector.register(stream, selectors.EVENT_READ)
        late = 0
        while selector.get_map() and late < _LATE_READS:
            # First poll, then select: everything that an ended process has written is in the pipes by then.
            ended = process.poll() is not None
            ready = selector.select(0 if ended else _PATIENCE)
            if ended and not ready:
                # A daemon started by the command holds the streams open, perhaps as long as it runs.
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
    """The Runner of a program that is no Ansible module."""

    def __init__(self) -> None:
        self._path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

    def _find(self, tool: str) -> str | None:
        return shutil.which(tool, path=self._path)
