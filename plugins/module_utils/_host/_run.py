# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one way in which this collection starts a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Unsupported

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# The exit status of coreutils' timeout(1) for a command that took too long.
TIMED_OUT = 124


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

    def _start(self, argv: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        result: tuple[int, str, str] = self._module.run_command(argv, environ_update=environment, handle_exceptions=False)
        return result

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        path = self._find(argv[0])
        if path is None:
            raise Unsupported("%s is not installed on this node" % argv[0])
        # timeout(1) is part of coreutils: run_command itself has no time limit.
        limit = ["timeout", "--kill-after=5", str(timeout)]
        rc, stdout, stderr = self._start([*limit, path, *argv[1:]], {"LC_ALL": "C", "LANGUAGE": "C", "DEBIAN_FRONTEND": "noninteractive"})
        if rc == TIMED_OUT and (ok is None or TIMED_OUT not in ok):
            raise CommandFailed("%s did not end within %g s" % (" ".join(argv), timeout), cmd=list(argv), rc=rc, stdout=stdout, stderr=stderr)
        if ok is not None and rc not in ok:
            raise failure(argv, Output(rc, stdout, stderr))
        return Output(rc, stdout, stderr)


class ThreadRunner(ModuleRunner):
    """A ModuleRunner for several threads, with an empty standard input.

    run_command starts processes in a way (preexec_fn) that can block where threads run, and hands its own input on.
    """

    def _start(self, argv: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, **environment}, check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


class PlainRunner(ThreadRunner):
    """A ThreadRunner of a program that is no module."""

    def __init__(self) -> None:
        self._path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

    def _find(self, tool: str) -> str | None:
        return shutil.which(tool, path=self._path)
