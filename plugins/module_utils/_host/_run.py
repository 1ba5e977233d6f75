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
_ENVIRONMENT = {"LC_ALL": "C", "LANGUAGE": "C", "DEBIAN_FRONTEND": "noninteractive"}
# Seconds in which the end of a command is noticed, where its streams don't end with it.
_PATIENCE = 1.0


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
        if output.rc == TIMED_OUT and (ok is None or TIMED_OUT not in ok):
            raise CommandFailed("%s did not end within %g s" % (" ".join(argv), timeout), cmd=list(argv), **output._asdict())
        if ok is not None and output.rc not in ok:
            raise failure(argv, output)
        return output


def _run(argv: t.Sequence[str]) -> Output:
    """Run a process to its end. Fit for threads.

    AnsibleModule.run_command is not: it has a preexec_fn. It also waits a second more whenever a process ends at the wrong moment.
    """
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **_ENVIRONMENT}) as process:
        while True:
            try:
                streams = process.communicate(timeout=_PATIENCE)
            except subprocess.TimeoutExpired as exc:
                # A daemon that the command has left behind may hold the streams for as long as it runs.
                if process.poll() is None:
                    continue
                streams = (exc.stdout or b"", exc.stderr or b"")
            return Output(process.returncode, *(stream.decode("utf-8", "replace") for stream in streams))


class PlainRunner(ModuleRunner):
    """The Runner of a program that is no module."""

    def __init__(self) -> None:
        self._path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

    def _find(self, tool: str) -> str | None:
        return shutil.which(tool, path=self._path)
