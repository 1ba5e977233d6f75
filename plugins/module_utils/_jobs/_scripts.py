# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the processes of a job run: POSIX shell for /bin/sh of a node, and what it printed. Pure.

All values are quoted. Only `setup` is a line of shell by its meaning.
"""

from __future__ import annotations

import re
import typing as t
from shlex import quote

from .._foreign import decimal
from .._tools import _benchmarks, _measure
from ._types import ALLREDUCE, ALLTOALL, PINGPONG, WRITE

if t.TYPE_CHECKING:
    from ._types import Part, Setting

TOOLS: t.Mapping[str, tuple[str, ...]] = {
    WRITE: (WRITE,),
    PINGPONG: (_benchmarks.OSU_LATENCY, _benchmarks.IMB),
    ALLTOALL: (_benchmarks.OSU_ALLTOALL, _benchmarks.IMB),
    ALLREDUCE: (_benchmarks.NCCL,),
}
"""The tools of each test. The first one that is installed on all nodes runs."""
_MARK = "rdma_job_test"
_TOLD = re.compile(r"^%s (\S{1,255}) (soft|hard|tool|container) ?(.{0,400})$" % _MARK, re.MULTILINE)
_LIMITS = re.compile(r"^limits (\S{1,40}) (\S{1,40})$", re.MULTILINE)
_TELL_LIMITS = "echo limits $(ulimit -S -l) $(ulimit -H -l)"
_LIMIT = re.compile(r"(?:[0-9]{1,20}|unlimited)\Z")
# A server may listen some seconds after its client has started.
_TRIES = 30
# timeout(1) kills a program that ignores SIGTERM.
_KILL = "--kill-after=5"
_NAME = "name=${SLURMD_NODENAME:-$(uname -n)}"


class Told(t.NamedTuple):
    """What one node told of itself from inside the job."""

    soft: str = ""
    """The limit of locked memory in KiB, or `unlimited`; empty where it is neither."""
    hard: str = ""
    tools: frozenset[str] = frozenset()
    container: tuple[str, ...] = ()
    """What the command in the container printed."""

    @property
    def contained(self) -> tuple[str, str]:
        """Soft and hard limit in the container; empty where it did not run."""
        return parse_limits("\n".join(self.container))


def limits_command() -> tuple[str, ...]:
    """Print soft and hard limit of locked memory."""
    return ("sh", "-c", _TELL_LIMITS)


def parse_limits(output: str) -> tuple[str, str]:
    """Both limits in KiB, or `unlimited`; empty where they are neither, or were not printed."""
    found = _LIMITS.findall(output)
    return (_limit(found[-1][0]), _limit(found[-1][1])) if found else ("", "")


def words(argv: t.Iterable[str]) -> str:
    """A command line for the shell."""
    return " ".join(map(quote, argv))


def prelude(setting: Setting) -> str:
    """The lines before each program. A setup that fails shows in what follows."""
    lines = [setting.setup, *("export %s=%s" % (name, quote(value)) for name, value in setting.environment)]
    return "".join(line + "\n" for line in lines if line)


def shell(script: str) -> tuple[str, ...]:
    """A login shell, which knows what users of the site get, such as the command `module`."""
    return ("/bin/sh", "-l", "-c", script)


def _limited(argv: t.Iterable[str], seconds: int) -> str:
    return words(["timeout", _KILL, str(seconds), *argv])


def probe(setting: Setting, name: str = "") -> str:
    """Tell the limits of locked memory and the tools that are installed. `name`: that of the node, where it is not in a job of Slurm."""
    tools = sorted({tool for test in setting.tests for tool in TOOLS.get(test, ())})
    inner = words([*setting.container, *limits_command()])
    lines = [
        "name=" + quote(name) if name else _NAME,
        'tell() { printf \'%s %%s %%s %%s\\n\' "$name" "$1" "$2"; }' % _MARK,
        'tell soft "$(ulimit -S -l)"',
        'tell hard "$(ulimit -H -l)"',
        'for tool in %s; do command -v "$tool" >/dev/null 2>&1 && tell tool "$tool"; done' % words(tools) if tools else "",
        'timeout %s %d %s 2>&1 | tail -n 4 | while read -r line; do tell container "$line"; done' % (_KILL, setting.step_seconds // 2, inner)
        if setting.container
        else "",
    ]
    return prelude(setting) + "\n".join(filter(None, lines)) + "\ntrue\n"


def _limit(text: str) -> str:
    return text if _LIMIT.match(text) else ""


def parse_probe(output: str, nodes: t.Collection[str]) -> dict[str, Told]:
    """What each of these nodes told. Names of others are ignored."""
    found = {node: Told() for node in nodes}
    for node, key, value in _TOLD.findall(output):
        told = found.get(node)
        if told is None:
            continue
        if key == "tool":
            found[node] = told._replace(tools=told.tools | {value})
        elif key == "container":
            found[node] = told._replace(container=(*told.container, value))
        else:
            found[node] = told._replace(soft=_limit(value)) if key == "soft" else told._replace(hard=_limit(value))
    return found


def _write_command(part: Part, setting: Setting, address: str = "") -> list[str]:
    device, _slash, port = part.port.rpartition("/")
    options = ("--size", str(setting.size), "--duration", str(setting.seconds), "--report_gbits")
    command = _measure.perftest_command(WRITE, device, decimal(port, 1), tcp_port=setting.tcp_port, options=options)
    return [*command, *([address] if address else [])]


def write(server: Part, client: Part, setting: Setting) -> str:
    """The server says something only where it fails. The client tries until it is there."""
    serve = _limited(_write_command(server, setting), setting.step_seconds)
    measure = _limited(_write_command(client, setting, server.address), setting.step_seconds)
    return prelude(setting) + "\n".join(
        [
            _NAME,
            'if [ "$name" = %s ]; then' % quote(server.node),
            "  said=$(%s 2>&1)" % serve,
            "  status=$?",
            "  [ $status -eq 0 ] || printf '%s\\n' \"the server said: $said\"",
            "  exit $status",
            "fi",
            "tries=0",
            "while :; do",
            "  said=$(%s 2>&1)" % measure,
            "  status=$?",
            "  tries=$((tries + 1))",
            '  case $said in *"ouldn\'t connect"*) if [ $tries -lt %d ]; then sleep 1; continue; fi;; esac' % _TRIES,
            "  printf '%s\\n' \"$said\"",
            "  exit $status",
            "done",
            "",
        ]
    )


def program(argv: t.Sequence[str], setting: Setting) -> str:
    """A program of each process, within its time limit."""
    return prelude(setting) + "exec %s\n" % _limited(argv, setting.step_seconds)
