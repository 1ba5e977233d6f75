# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import ModuleRunner, first_tool
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit, parse_show

# systemctl show -p Id,LoadState,ActiveState,UnitFileState,FragmentPath,MainPID dbus.service no-such.service (systemd 252)
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


class FakeModule:
    """get_bin_path and run_command of AnsibleModule, with a fixed answer."""

    def __init__(self, answer: tuple[int, str, str], tools: t.Collection[str] = ("ibstat",)) -> None:
        self.answer = answer
        self.tools = tools
        self.calls: list[list[str]] = []

    def get_bin_path(self, tool: str, opt_dirs: t.Sequence[str] = ()) -> str | None:
        return "/usr/sbin/" + tool if tool in self.tools else None

    def run_command(self, argv: list[str], **_kwargs: t.Any) -> tuple[int, str, str]:
        self.calls.append(argv)
        return self.answer


def runner(*answer: t.Any) -> tuple[ModuleRunner, FakeModule]:
    module = FakeModule(t.cast("t.Any", answer))
    return ModuleRunner(t.cast("t.Any", module)), module


def test_the_first_tool_of_the_node() -> None:
    run = runner(0, "", "")[0]
    assert (first_tool(run, ["no", "ibstat"]), first_tool(run, ["no"])) == ("ibstat", "")


def test_units() -> None:
    units = parse_show(SHOW)
    assert units["dbus.service"] == Unit("dbus.service", "loaded", "active", "static", "/lib/systemd/system/dbus.service", 301)
    assert not units["no-such.service"].exists


def test_a_command_has_a_time_limit_and_no_shell() -> None:
    run, module = runner(0, "out", "")
    assert run(["ibstat", "-p"], timeout=3).stdout == "out"
    assert module.calls == [["timeout", "--kill-after=5", "3", "/usr/sbin/ibstat", "-p"]]


def test_tools_come_and_go_while_a_module_runs() -> None:
    run, module = runner(0, "", "")
    assert not run.has("ofed_info")
    module.tools = ("ibstat", "ofed_info")
    assert run.has("ofed_info")
    module.tools = ()
    with pytest.raises(Unsupported, match="ibstat is not installed"):
        run(["ibstat"])


def test_a_failure_quotes_command_status_and_text() -> None:
    run, _module = runner(1, "", "ibpanic: no\n")
    with pytest.raises(CommandFailed, match=r"^ibstat -p failed with exit status 1: ibpanic: no$"):
        run(["ibstat", "-p"])
    assert run(["ibstat", "-p"], ok=None).rc == 1


def test_a_time_out_is_told_apart() -> None:
    run, _module = runner(124, "", "")
    with pytest.raises(CommandFailed, match="did not end within 60 s"):
        run(["ibstat"])


def test_a_missing_tool_is_named() -> None:
    run, _module = runner(0, "", "")
    assert run.has("ibstat")
    assert not run.has("sminfo")
    with pytest.raises(Unsupported, match="sminfo is not installed"):
        run(["sminfo"])
