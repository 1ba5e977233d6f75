# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reader of our files says of an interface counts beside the state of the kernel."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check._findings import _interfaces
from ansible_collections.rdma.ofed.plugins.module_utils._check._words import result
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _apply
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._concern import Options
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import condensed, look_whole
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import interfaces_of
from ipoib_node import FakeNode

IB0: list[t.Any] = [{"name": "ib0", "addresses": ["10.20.0.1/24"]}]
OURS = "/etc/systemd/network/50-rdma-ib0.network"
GENERATED = "/run/systemd/network/10-netplan-ib0.network"
CASES = [
    ("systemd-networkd", "ADMIN_STATE=configured\nNETWORK_FILE=" + OURS, ""),
    ("systemd-networkd", "ADMIN_STATE=configuring\nNETWORK_FILE=" + OURS, ""),
    ("systemd-networkd", "ADMIN_STATE=unmanaged", "unmanaged"),
    ("systemd-networkd", "ADMIN_STATE=failed\nNETWORK_FILE=" + OURS, "failed"),
    ("systemd-networkd", "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/05-x.network", "configured by /etc/systemd/network/05-x.network"),
    ("netplan", "ADMIN_STATE=configured\nNETWORK_FILE=" + GENERATED, ""),
    ("netplan", "ADMIN_STATE=unmanaged", "unmanaged"),
    ("networkmanager", "connected", ""),
    ("networkmanager", "connected (externally)", "connected (externally)"),
    ("networkmanager", "unmanaged", "unmanaged"),
    ("ifupdown", "ib0=ib0", ""),
    ("ifupdown", "ib1=ib1", "not configured"),
    ("ifupdown", "ib0=storage", "configured by the stanza storage"),
]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_apply, "SETTLE_TIMEOUT", 0.3)
    monkeypatch.setattr(_apply, "SETTLE_STEP", 0.01)
    monkeypatch.setattr(_apply, "NUDGE_AFTER", 0.05)


def say(node: FakeNode, stack: str, said: str) -> None:
    node.set("ib0", "ifindex", "7")
    if stack == "networkmanager":
        node.nm_states["ib0"] = said
    elif stack == "ifupdown":
        node.ifstate = said + "\n"
        node.write("run/network/ifstate", said)
    else:
        node.write("run/systemd/netif/links/7", said)


@pytest.mark.parametrize(("stack", "said", "words"), CASES)
def test_a_run_waits_for_it_and_ends_with_what_it_says(tmp_path: pathlib.Path, stack: str, said: str, words: str) -> None:
    node = FakeNode(tmp_path, stack)
    node.appear("ib0")
    say(node, stack, said)
    if not words:
        assert node.call(interfaces=IB0)["changed"]
        return
    with pytest.raises(CommandFailed) as raised:
        node.call(interfaces=IB0)
    assert "ib0 is %s, as it says itself" % words in raised.value.msg
    assert raised.value.details["changed"]


@pytest.mark.parametrize(("stack", "said", "words"), CASES)
def test_verify_tells(tmp_path: pathlib.Path, stack: str, said: str, words: str) -> None:
    node = FakeNode(tmp_path, stack)
    node.appear("ib0")
    node.call(interfaces=IB0)
    say(node, stack, said)
    found = condensed(look_whole(node, {}, str(tmp_path)), {"ib0": ""})
    findings = _interfaces(Options(IB0, allow_removal=True), found, interfaces_of(IB0))
    assert [(each.subject, each.aspect, each.wanted, each.found) for each in findings] == ([("ib0", "manager", stack, words)] if words else [])


def test_the_next_step_is_no_run_which_has_nothing_to_do(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "ifupdown")
    node.appear("ib0")
    node.call(interfaces=IB0)
    say(node, "ifupdown", "ib1=ib1")
    found = condensed(look_whole(node, {}, str(tmp_path)), {"ib0": ""})
    (finding,) = _interfaces(Options(IB0, allow_removal=True), found, interfaces_of(IB0))
    assert result(finding)["next_step"] == "run 'ip address flush dev ib0; ifup --force ib0', or see 'ifquery --state' and 'ip address'"
