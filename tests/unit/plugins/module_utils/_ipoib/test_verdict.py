# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states that ifupdown, wicked, and the reader of ifcfg files report for an interface."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Evidence, Tools
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._ifcfg_backend import IFCFG
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._ifupdown import STATE, up_interfaces
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._ifupdown_backend import IFUPDOWN
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._wicked_backend import STATUS, WICKED, parse_status
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found, Presence, Standing
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._todo import IpoibPlan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Plan

# Output of `ifquery --state` of ifupdown 0.8.41 on Debian 12, and /run/network/ifstate there: ib0 is up, `ifup ib1=storage` as well; `ifup ib2` and `ifup ib9`
# failed.
IFQUERY = "ib1=storage\nib0=ib0\n"
# As printed by client/ifstatus.c of wicked.
IFSTATUS = "%-16s%s\n" * 5 % ("lo", "up", "eth0", "up", "ib0", "up", "ib0.8001", "setup-in-progress", "ib1", "device-unconfigured")


def test_what_ifupdown_has_up() -> None:
    assert up_interfaces(IFQUERY) == {"ib0": "ib0", "ib1": "storage"}
    assert up_interfaces("") == up_interfaces("\n") == {}


def test_ifupdown_says_what_it_did_not_do(tmp_path: pathlib.Path) -> None:
    path = tmp_path / STATE.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_text(IFQUERY, encoding="utf-8")
    found = Found(backends={"ifupdown": IFUPDOWN.look(_Runner(""), Evidence(), str(tmp_path))})
    assert [IFUPDOWN.dissent(name, found) for name in ("ib0", "ib1", "ib2")] == ["", "configured by the stanza storage", "not configured"]


class _Runner:
    def __init__(self, stdout: str) -> None:
        self.stdout = stdout
        self.seen: list[t.Any] = []

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.seen.append(tuple(argv))
        return Output(2, self.stdout, "")


def test_the_status_of_wicked() -> None:
    assert parse_status(IFSTATUS) == {
        "lo": Standing("up"),
        "eth0": Standing("up"),
        "ib0": Standing("up"),
        "ib0.8001": Standing("setup-in-progress"),
        "ib1": Standing("device-unconfigured"),
    }
    assert parse_status("") == {}
    # wicked's own messages, and the lines of the long form.
    assert parse_status("wicked: Couldn't refresh list of active network interfaces\n      link:     #3\n") == {}


def test_wicked_is_asked_where_it_is_in_use() -> None:
    here = Evidence({"wickedd.service": Unit("wickedd.service", "loaded", "active", "enabled")}, frozenset(("wicked",)))
    for evidence in (Evidence(), here._replace(units={}), here._replace(tools=frozenset())):
        idle = _Runner(IFSTATUS)
        assert WICKED.look(idle, evidence, "/").standings == {}
        assert idle.seen == []
    run = _Runner(IFSTATUS)
    found = Found(backends={"wicked": WICKED.look(run, here, "/")})
    assert run.seen == [STATUS]
    # It reports nothing about an interface that it does not list.
    assert [WICKED.dissent(name, found) for name in ("ib0", "ib0.8001", "ib1", "ib7")] == ["", "", "device-unconfigured", ""]
    port = found._replace(netdevs={"ib1": Netdev("ib1", "ipoib", master="bond0")})
    assert WICKED.dissent("ib1", port) == ""


@pytest.mark.parametrize("state", ["config-changed", "no-config", "device-not-enabled"])
def test_wicked_says_of_an_interface_that_is_there_only_two_things_against_it(state: str) -> None:
    """The other states are results of `wicked ifcheck`, or stand for a missing interface."""
    found = Found(netdevs={"ib0": Netdev("ib0", "ipoib")}, backends={"wicked": Presence(standings={"ib0": Standing(state)})})
    assert WICKED.dissent("ib0", found) == ""


def test_wicked_is_told_again_of_what_dissents() -> None:
    """The kernel shows the declared state, so the plan is empty."""
    run = _Runner("")
    found = Found(netdevs={name: Netdev(name, "ipoib") for name in ("ib0", "ib1")}, backends={"wicked": Presence(standings=parse_status(IFSTATUS))})
    interfaces = (Interface("ib0", "datagram"), Interface("ib1", "datagram"))
    todo = IpoibPlan(Plan(), interfaces, dissents=WICKED.dissents(interfaces, found))
    driver = WICKED.drive(Tools(run, mock.Mock()), found)  # type: ignore[arg-type]
    driver.apply(todo, (), found)
    assert run.seen == []
    driver.nudge(todo, found)
    assert run.seen == [("wicked", "ifup", "ib1")]


@pytest.mark.parametrize(("settings", "words"), [({"version": "1.40"}, "unmanaged"), ({}, "")])
def test_networkmanager_speaks_of_its_ifcfg_files(settings: dict[str, str], words: str) -> None:
    """Without NetworkManager, network-scripts read them, and those keep no list."""
    presence = Presence(settings=settings, standings={"ib0": Standing("unmanaged")})
    assert IFCFG.dissent("ib0", Found(netdevs={"ib0": Netdev("ib0", "ipoib")}, backends={"networkmanager": presence})) == words
