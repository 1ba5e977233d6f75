# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ansible runs by processes that have loaded Ansible and the collection. Loading takes longer than all else that a short run does on the controller.

Each run is a process of its own, with the arguments, environment and output of a call of the program.
"""

from __future__ import annotations

import atexit
import json
import pathlib
import subprocess
import sys
import tempfile
import typing as t

CONNECTIONS = "RDMA_CONNECTIONS"
"""The variable that names connection plugins of collections, to load them before the runs that use them."""

_SERVER = pathlib.Path(__file__).with_name("ansible_server.py")
_Key = t.Tuple[str, t.FrozenSet[t.Tuple[str, str]]]
_idle: t.Dict[_Key, t.List[t.Any]] = {}
"""Servers without a run, by their Python and the settings that Ansible reads while it loads."""


class Done(t.NamedTuple):
    """The exit code of a run, negative for a signal, and what it printed."""

    status: int
    shown: str
    errors: str


def _start(python: str, environ: t.Mapping[str, str]) -> t.Any:
    server = subprocess.Popen([python, str(_SERVER)], env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    # The server ends with its input.
    atexit.register(server.communicate)
    return server


def _ask(server: t.Any, request: t.Mapping[str, t.Any]) -> int:
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    if not answer:
        raise RuntimeError("the process that runs Ansible has ended with %s" % server.wait())
    return int(answer)


def run(
    program: str,
    arguments: t.Sequence[str],
    *,
    folder: pathlib.Path,
    environ: t.Mapping[str, str],
    python: str = sys.executable,
    loading: t.Mapping[str, str] = {},
    merged: bool = False,
    seconds: int = 600,
) -> Done:
    """Run `playbook` or `inventory` in a directory.

    `python` has Ansible. `loading`: variables that differ while the server loads. `merged`: errors are among the output, in order. A run ends by SIGALRM after
    `seconds`.
    """
    settings = {**environ, **loading}
    key = (python, frozenset((name, value) for name, value in settings.items() if name.startswith("ANSIBLE_") or name in ("PATH", *loading)))
    servers = _idle.setdefault(key, [])
    # Runs at the same time have a server each.
    server = servers.pop() if servers else _start(python, settings)
    with tempfile.TemporaryDirectory() as files:
        output = pathlib.Path(files, "output")
        errors = output if merged else pathlib.Path(files, "errors")
        for path in (output, errors):
            path.touch()
        request = {"program": program, "arguments": list(arguments), "folder": str(folder), "environ": dict(environ), "seconds": seconds}
        try:
            status = _ask(server, {**request, "output": str(output), "errors": str(errors)})
        except BaseException:
            server.kill()
            raise
        servers.append(server)
        return Done(status, output.read_text(encoding="utf-8"), "" if merged else errors.read_text(encoding="utf-8"))
