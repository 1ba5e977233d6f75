# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host import _run
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import TIMED_OUT, ModuleRunner, Output, first_tool
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit, parse_show

# Output of: systemctl show -p Id,LoadState,ActiveState,UnitFileState,FragmentPath,MainPID dbus.service no-such.service (systemd 252)
SHOW = """\
MainPID=301
Id=dbus.service
LoadState=loaded
ActiveState=active
FragmentPath=/lib/systemd/system/dbus.service
UnitFileState=static

MainPID=0
Id=no-such.service
LoadState=not-found
ActiveState=inactive
FragmentPath=
UnitFileState=
"""


class Node:
    """A directory of programs, and the part of AnsibleModule that finds them."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self.run = ModuleRunner(t.cast("t.Any", self))

    def get_bin_path(self, tool: str, opt_dirs: t.Sequence[str] = ()) -> str | None:
        path = self._folder / tool
        return str(path) if path.exists() else None

    def install(self, tool: str, script: str = "") -> None:
        path = self._folder / tool
        path.write_text("#!/bin/sh\n%s\n" % script, encoding="utf-8")
        path.chmod(0o755)

    def remove(self, tool: str) -> None:
        (self._folder / tool).unlink()


@pytest.fixture(name="node")
def _node(tmp_path: pathlib.Path) -> Node:
    node = Node(tmp_path)
    node.install("ibstat")
    return node


def test_the_first_tool_of_the_node(node: Node) -> None:
    assert (first_tool(node.run, ["no", "ibstat"]), first_tool(node.run, ["no"])) == ("ibstat", "")


def test_units() -> None:
    units = parse_show(SHOW)
    assert units["dbus.service"] == Unit("dbus.service", "loaded", "active", "static", "/lib/systemd/system/dbus.service", 301)
    assert not units["no-such.service"].exists


def test_a_command_gets_no_input_and_the_c_locale(node: Node) -> None:
    node.install("ibstat", 'cat; echo "$1 $LC_ALL"; echo "more" >&2')
    assert node.run(["ibstat", "-p"]) == (0, "-p C\n", "more\n")


def test_no_shell_reads_the_arguments(node: Node) -> None:
    node.install("ibstat", 'echo "$1"')
    assert node.run(["ibstat", "$HOME; true"]).stdout == "$HOME; true\n"


def test_what_is_no_text_is_shown_as_such(node: Node) -> None:
    node.install("ibstat", r"printf 'node \377'")
    assert node.run(["ibstat"]).stdout == "node \N{REPLACEMENT CHARACTER}"


def test_a_daemon_that_holds_the_streams_is_not_waited_for(node: Node) -> None:
    node.install("ibstat", "sleep 600 & echo $!")
    pid = int(node.run(["ibstat"]).stdout)
    # The process is still running, so its end did not cause the answer.
    os.kill(pid, signal.SIGKILL)


def test_what_a_process_says_last_is_read(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends after the last read and before the poll."""
    poll = subprocess.Popen.poll

    def wait_and_poll(process: subprocess.Popen[bytes]) -> int | None:
        if process.returncode is None:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return poll(process)

    monkeypatch.setattr(subprocess.Popen, "poll", wait_and_poll)
    node.install("ibstat", "sleep 0.1; echo last; echo words >&2")
    assert node.run(["ibstat"]) == (0, "last\n", "words\n")


@pytest.mark.parametrize("size", [1, 65536, 1000000])
def test_all_output_is_read(node: Node, size: int) -> None:
    node.install("ibstat", "head -c %d /dev/zero; head -c %d /dev/zero >&2" % (size, size))
    output = node.run(["ibstat"])
    assert (len(output.stdout), len(output.stderr)) == (size, size)


def test_a_daemon_that_goes_on_talking_is_not_listened_to(node: Node) -> None:
    node.install("ibstat", "yes & echo $!")
    output = node.run(["ibstat"])
    assert output.rc == 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(next(int(line) for line in output.stdout.splitlines() if line.isdigit()), signal.SIGKILL)


def test_tools_come_and_go_while_a_module_runs(node: Node) -> None:
    assert not node.run.has("ofed_info")
    node.install("ofed_info")
    assert node.run.has("ofed_info")
    node.remove("ibstat")
    with pytest.raises(Unsupported, match="ibstat is not installed"):
        node.run(["ibstat"])


def test_a_failure_quotes_command_status_and_text(node: Node) -> None:
    node.install("ibstat", "echo ibpanic: no >&2; exit 1")
    with pytest.raises(CommandFailed, match=r"^ibstat -p failed with exit status 1: ibpanic: no$"):
        node.run(["ibstat", "-p"])
    assert node.run(["ibstat", "-p"], ok=None).rc == 1


def test_a_time_out_is_told_apart(node: Node) -> None:
    node.install("ibstat", "sleep 600")
    with pytest.raises(CommandFailed, match=r"did not end within 0\.1 s"):
        node.run(["ibstat"], timeout=0.1)
    assert node.run(["ibstat"], ok=[TIMED_OUT], timeout=0.1).rc == TIMED_OUT


def test_a_command_that_ignores_the_signal_has_timed_out_too(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    # timeout(1) kills itself with the command.
    monkeypatch.setattr(_run, "_run", lambda _argv: Output(-signal.SIGKILL, "", ""))
    with pytest.raises(CommandFailed, match="did not end within 60 s"):
        node.run(["ibstat"])


def test_a_missing_tool_is_named(node: Node) -> None:
    assert node.run.has("ibstat")
    assert not node.run.has("sminfo")
    with pytest.raises(Unsupported, match="sminfo is not installed"):
        node.run(["sminfo"])
